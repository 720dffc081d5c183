import report_data as data
from cordwood.compare import comparison_report


def test_comparison_states_which_learners_are_tied():
    report = comparison_report(*data.make_comparison())
    summary, text = report.to_dict(), report.to_html()
    assert "learner 0 has the highest micro-F1" in text
    for dataset in summary["datasets"]:
        cells = summary["scores"]["micro_f1"][dataset]
        assert cells["learner 0"]["mark"] == "best"
        assert cells["learner 3"]["mark"] == ""
    assert "The Friedman test on 3 data sets" in text
    assert "Pareto front" in text
    assert "With all training samples, learner 0 has the highest score" in text


def test_one_data_set_has_neither_ranks_nor_curves():
    comparison, _ = data.make_comparison(1, 2, fractions=(1.0,))
    html = comparison_report(comparison).to_html()
    assert 'id="ranks"' not in html and 'id="curves"' not in html
    assert 'id="time"' in html


def test_incomplete_comparison_has_a_report():
    comparison, curves = data.make_comparison(2, 4, missing=[(0, 3, 4)])
    html = comparison_report(comparison, curves).to_html()
    assert "(4 of 5)" in html
    assert "1 learner with missing folds not compared" in html
