"""What figures say; how they look is for eyes."""


def words(figure):
    axes = [a.get_title() for a in figure.axes]
    axes += [t.get_text() for a in figure.axes for t in a.texts]
    legends = [
        t.get_text()
        for e in figure.legends
        for t in (e.get_title(), *e.get_texts())
    ]
    return [*axes, *(t.get_text() for t in figure.texts), *legends]
