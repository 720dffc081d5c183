"""What do names and descriptions of the classes bring, with 0 to 16 labelled texts per class?

    python dev.py bench class_descriptions [--sets r8,tweets] [--draws 3] [--per-class 0,4,8,16]
        [--encoder use] [--weights 3,6,12,24]

Draws training and test texts as `few_labels.py` does, and fits `TextClassifier` to them with
numbers as labels, which have no names; with the names of the classes, which it uses unless they
harm out of fold; and with the descriptions below, which were written from the meaning of the labels
and not chosen by results. Without training texts, names and descriptions are all there is.

Prints the mean accuracy in percent for each data set and number of texts per class, then their mean
over the data sets; without training texts, over those whose classes have names. With `--weights`,
prints the mean of the classifier of embeddings alone instead, by the weight of the descriptions.
"""

import argparse

import numpy as np

from cordwood import CordwoodError, TextClassifier
from cordwood.linear_model import EmbeddingClassifier
from cordwood.text import EmbeddingVectorizer
from few_labels import draw_samples, load_texts
from options import at_least
from stopwatch import print_head, print_row, print_run

POLARITY = {
    "positive": "The author is happy, praises it and recommends it.",
    "negative": "The author is unhappy, complains about it and advises against it.",
}
DESCRIPTIONS = {
    "20ng": {
        "alt.atheism": "Atheism: arguments about the existence of god, belief and morality",
        "comp.graphics": "Computer graphics: images, file formats, rendering and 3D software",
        "comp.os.ms-windows.misc": "Microsoft Windows: programs, drivers, fonts and settings",
        "comp.sys.ibm.pc.hardware": "Hardware of PCs: disk controllers, boards, monitors, modems",
        "comp.sys.mac.hardware": "Hardware of the Apple Macintosh: Quadra, PowerBook, memory",
        "comp.windows.x": "The X Window System on Unix: servers, Motif, widgets and clients",
        "misc.forsale": "Things for sale: offers with prices, shipping and condition",
        "rec.autos": "Cars: models, engines, dealers, driving and repair",
        "rec.motorcycles": "Motorcycles: bikes, riding, helmets and riders",
        "rec.sport.baseball": "Baseball: teams, pitchers, hitters, games and statistics",
        "rec.sport.hockey": "Ice hockey: NHL teams, players, goals and playoffs",
        "sci.crypt": "Cryptography: encryption, keys, the Clipper chip, privacy and the NSA",
        "sci.electronics": "Electronics: circuits, components, voltage, amplifiers and radio",
        "sci.med": "Medicine: diseases, symptoms, drugs, diets and doctors",
        "sci.space": "Space: NASA, orbits, satellites, launches, the moon and planets",
        "soc.religion.christian": "Christianity: the Bible, Jesus, church, faith and sin",
        "talk.politics.guns": "Guns: gun control, firearms, the second amendment, the Waco siege",
        "talk.politics.mideast": "The Middle East: Israel, Arabs, Palestine, Armenia and Turkey",
        "talk.politics.misc": "Politics of the United States: government, taxes, rights, Clinton",
        "talk.religion.misc": "Religions and sects: beliefs, scripture, morality and cults",
    },
    "r8": {
        "acq": "A company buys another company or shares of it: mergers and acquisitions",
        "crude": "Crude oil: prices, production, OPEC, refineries and energy",
        "earn": "Quarterly or yearly results of a company: profit, loss, revenue and dividends",
        "grain": "Grain: wheat, corn and other crops, harvests and exports",
        "interest": "Interest rates: central banks, prime rates, treasury bills and bonds",
        "money-fx": "Foreign exchange and the money market: dollar, yen, currency intervention",
        "ship": "Shipping: vessels, ports, cargo, tankers and strikes of seamen",
        "trade": "Trade between countries: deficits, tariffs, exports, imports and sanctions",
    },
    "webkb": {
        "course": "Home page of a university course: lectures, homework, exams and syllabus",
        "department": "Home page of a university department: people, programs and facilities",
        "faculty": "Home page of a professor: research interests, publications and teaching",
        "other": "Another page of a university: a list, a document, a schedule or a vita",
        "project": "Home page of a research project: its goals, members, software and papers",
        "staff": "Home page of a staff member: systems administrator, secretary or programmer",
        "student": "Home page of a student: hobbies, friends, courses and favourite links",
    },
    "ohsumed": {
        "C01": "Bacterial infections and fungal infections",
        "C04": "Neoplasms: cancer and tumors",
        "C05": "Musculoskeletal diseases: bones, joints and muscles",
        "C06": "Diseases of the digestive system: stomach, intestine, liver and pancreas",
        "C08": "Diseases of the respiratory tract: lungs, asthma and pneumonia",
        "C10": "Diseases of the nervous system: brain, stroke, epilepsy and nerves",
        "C11": "Eye diseases: retina, cornea, glaucoma and cataract",
        "C12": "Urologic and male genital diseases: kidney, bladder and prostate",
        "C13": "Female genital diseases and complications of pregnancy",
        "C14": "Cardiovascular diseases: heart, coronary arteries and hypertension",
        "C15": "Blood and lymphatic diseases: anemia, leukocytes and coagulation",
        "C16": "Diseases of newborns and congenital abnormalities",
        "C17": "Diseases of the skin and connective tissue: dermatitis, lupus and psoriasis",
        "C18": "Nutritional and metabolic diseases: diabetes, obesity and cholesterol",
        "C20": "Immunologic diseases: allergy, AIDS, HIV and transplant rejection",
        "C21": "Injuries, poisoning and wounds: accidents, fractures and burns",
        "C23": "Pathologic conditions, signs and symptoms: pain, bleeding and complications",
    },
}
SETS = "tweets,amazon,youtube,debate,r8,r8:title,20ng:subject,ohsumed:title,webkb,20ng"
NONE, NAMES, DESCRIBED = "none", "names", "descriptions"


def main(options: argparse.Namespace) -> None:
    print_run()
    sizes = [int(size) for size in options.per_class.split(",")]
    if options.weights:
        compare_weights(sizes, [float(weight) for weight in options.weights.split(",")], options)
        return
    print_head("data set", "per class", NONE, NAMES, DESCRIBED)
    found: dict[int, list[list[float]]] = {size: [] for size in sizes}
    for name in options.sets.split(","):
        texts, labels = load_texts(name)
        for size in sizes:
            draws = range(options.draws)
            rows = [run_draw(name, texts, labels, size, draw, options.encoder) for draw in draws]
            found[size].append(np.mean(rows, axis=0).tolist())
            print_row(name, str(size), *map(format_share, found[size][-1]))
    for size, means in found.items():
        complete = [row for row in means if not np.isnan(row[1])]  # of classes with names
        print_row("mean", str(size), *map(format_share, np.mean(complete, axis=0)))


def run_draw(
    name: str, texts: np.ndarray, labels: np.ndarray, size: int, draw: int, encoder: str
) -> list[float]:
    """Return the accuracy with numbers as labels, with names and with descriptions."""
    train, test = draw_samples(labels, size, draw)
    classes = np.unique(labels).tolist()
    described = DESCRIPTIONS.get(name.split(":")[0], POLARITY)
    given = {
        NAMES: None if size else dict.fromkeys(classes),
        DESCRIBED: {label: described[label] for label in classes},
    }
    accuracies = []
    for way in (NONE, NAMES, DESCRIBED):
        y = np.searchsorted(classes, labels) if way == NONE else labels
        model = TextClassifier(encoder=encoder, class_descriptions=given.get(way))
        try:
            model.fit(texts[train].tolist(), y[train].tolist())
        except CordwoodError:
            if size:
                raise
            accuracies.append(np.nan)  # no names
            continue
        accuracies.append(float((model.predict(texts[test].tolist()) == y[test]).mean()))
    return accuracies


def compare_weights(sizes: list[int], weights: list[float], options: argparse.Namespace) -> None:
    """Print the mean accuracy by weight of the descriptions."""
    vectorizer = EmbeddingVectorizer(options.encoder).fit([""])
    found = np.zeros((len(sizes), len(weights)))
    names = options.sets.split(",")
    for name in names:
        texts, labels = load_texts(name)
        described = DESCRIPTIONS.get(name.split(":")[0], POLARITY)
        vectors = {label: vectorizer.transform([described[label]]) for label in np.unique(labels)}
        for i, size in enumerate(sizes):
            for draw in range(options.draws):
                samples = draw_samples(labels, size, draw)
                train, test = (vectorizer.transform(texts[each].tolist()) for each in samples)
                y_train, y_test = (labels[each] for each in samples)
                for j, weight in enumerate(weights):
                    head = EmbeddingClassifier(class_vectors=vectors, class_vectors_weight=weight)
                    found[i, j] += head.fit(train, y_train).score(test, y_test)
    print_head("per class", *map(str, weights))
    for size, row in zip(sizes, found / (len(names) * options.draws), strict=True):
        print_row(str(size), *map(format_share, row))


def format_share(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--draws", type=at_least(1), default=3)
    parser.add_argument("--per-class", default="0,4,8,16")
    parser.add_argument("--encoder", default="use")
    parser.add_argument("--weights", help="weights of the descriptions to compare")
    main(parser.parse_args())
