"""Rules that can be switched off, so that a world shows what each is for."""

OFF = set()


def on(rule):
    """Is this rule in force? All are, but those that a run switches off by name."""
    return rule not in OFF


class Broken(Exception):
    """What must hold does not."""


OWNER, WRITER, VIEWER = 1, 2, 3
WRITES = (OWNER, WRITER)

# Worlds that fail without a rule, and how: history_model.py --self-test plays them. A change of the worlds moves them; --off RULE over some
# hundred seeds finds others.
SHOWN_BY = {
    'limits': (12, 'any', 'several states'),
    'K1': (318, 'any', 'several states'),
    'K1 later': (562, 'any', 'several states'),
    'K1 branch': (254, 'lying', 'several states'),
    'C1a': (237, 'any', 'links are written for ever'),
    'K2 412': (60, 'any', 'closing link leaves out what the head named'),
    'K3': (1, 'any', 'a closed device has the newest key'),
    'K3 push': (1, 'any', 'pushed while an epoch is due'),
    'K4': (6, 'any', 'new words of a revoked device'),
    'K8': (310651, 'any', 'a right that a thief gave'),
    'K8 alone': (20730, 'any', 'links not followed'),
    'key not given': (11, 'any', 'cannot write'),
    'S7': (34, 'any', 'an entry is held by what it has seen'),
    'hash': (176, 'lying', 'an entry of another chain counts'),
    'T2': (2561, 'any', 'several texts'),
    'T5': (8, 'any', 'lost lines'),
    'T6': (1, 'any', 'merged text lost by a checkpoint'),
    'T6 link': (1383, 'any', 'merged text lost by a checkpoint'),
    'C9': (700319, 'lying', 'words of a closed log are lost'),
    'C9 cover': (700384, 'lying', 'links are written for ever'),
    'C9 past': (703793, 'lying', 'links are written for ever'),
    'C9 closed': (700336, 'lying', 'links are written for ever'),
    'C9 raised': (20481, 'lying', 'dated back'),
    'E7': (144, 'honest', 'closing link leaves out what the head named'),
    'F5': (7, 'any', 'false alarm: rolled back or forked'),
    'I4': (1, 'any', 'lost lines'),
    'N1': (65, 'any', 'deleted before seven days'),
    'N3': (302366, 'any', 'several states'),
    'P2': (351, 'any', 'several states'),
    'P3 wait': (1, 'any', 'deleted before seven days'),
    'P3 signer': (44, 'any', 'purge by a revoked device'),
}
