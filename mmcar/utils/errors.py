"""A user's mistake looks different from a bug of ours."""


class UserError(ValueError):
    """Input that cannot work.

    The message names the file, key or value, says what was expected and what
    to do. Tools print it as one sentence and exit with code 2; every other
    exception is a bug and shows its traceback.
    """


class MissingFileError(UserError, FileNotFoundError):
    """A file or folder that is named somewhere does not exist."""


class NonFiniteError(UserError):
    """Values that must be finite are NaN or infinite."""
