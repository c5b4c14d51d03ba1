"""The one exception class that a user sees.

Every message follows one form: which file, which record, what is wrong, what to do. Anything else that
escapes a command is a bug and keeps its traceback.
"""


class UserError(Exception):
    """Input, configuration or machine is not usable; the message is the whole story, on one line."""
