"""The one error type whose message is written for the person using the app."""


class UserError(ValueError):
    """Something a user gave cannot be used.

    The message is one sentence that names what is wrong and what is allowed; pages show it as it
    is, and the command line prints it to stderr and exits with status 2.
    """
