from mmcar.apis.signatures import arguments_of, default_of
from mmcar.utils.hints import fits


class Base:
    def __init__(self, size: int = 1, name: str = ''):
        pass


class Child(Base):
    def __init__(self, depth: int, **kwargs):
        super().__init__(**kwargs)


class Sink:
    def __init__(self, interval: int = 1, **kwargs):
        pass


class TestArgumentsOf:
    def test_follows_kwargs_to_the_base(self):
        found = arguments_of(Child)
        assert set(found.names) == {'depth', 'size', 'name'}
        assert not found.open

    def test_kwargs_that_lead_nowhere_are_open(self):
        found = arguments_of(Sink)
        assert found.names == ('interval',) and found.open

    def test_functions(self):
        def build(depth: int) -> None:
            """Build."""

        assert arguments_of(build).names == ('depth',)
        assert arguments_of(build).hints['depth'] is int


def test_default_of():
    assert default_of(Child, 'size') == 1
    assert default_of(Child, 'depth') is None
    assert default_of(Child, 'width') is None


def test_defaults_say_what_is_meant():
    def build(window_size=10, verbose=False, name='x') -> None:
        """Build."""

    hints = arguments_of(build).hints
    for value in (3, 0.5, [3, 4], {'a': 1}, None):
        assert fits(value, hints['window_size'], strict=False)
    for value in ('ten', True):
        assert not fits(value, hints['window_size'], strict=False)
    for value in (True, False, 0, 1):
        assert fits(value, hints['verbose'], strict=False)
    for value in ('yes', 3, None, [True]):
        assert not fits(value, hints['verbose'], strict=False)
    for value in ('y', 3, None):
        assert fits(value, hints['name'], strict=False)
    for value in (True, ['y']):
        assert not fits(value, hints['name'], strict=False)


def test_a_default_of_none_may_be_given():
    def build(size: int = None, rate: float = 0.5) -> None:  # noqa: RUF013
        """Build."""

    hints = arguments_of(build).hints
    assert fits(None, hints['size'], strict=False)
    assert not fits(None, hints['rate'], strict=False)
