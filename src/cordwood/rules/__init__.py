"""Word rules: six ways to find them, two ways to add them up.

A rule asks one question, whether a word is in a document, and has one vote for yes and one for no.
Boosting by exponential costs (`boosting`) adds a rule a round. Boosting by a linear programme
(`generation`) finds the costs of documents under which the best mixture of rules does worst; a
rule that is found is a row of that programme, and its Lagrange multiplier is the rule's weight::

                     u_1 ... u_m     S      g
    sum of costs       1 ...  1                  =  1
    balance          y_1 ... y_m    -1           =  0
    rule (w, c1, c0)  (c1 - c0) y_i  c0    -1    <=  0     one entry for each document with w
    bounds            L_i <= u_i <= D_i               minimise g

The shared variable S = sum of u_i y_i keeps rows as short as a word's list of documents. Without
it each would be as long as the collection.
"""
