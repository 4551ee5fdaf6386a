"""Items of a vault as people see them (Spec/items.md), their histories and their conflicts."""

from . import attachments, cbor, shown
from .failure import Failure
from .state import State, changes_of
from .suite import hashed, lp, u64
from .tree import check_key

KINDS = {b'N': 'note', b'L': 'login', b'C': 'card', b'I': 'identity', b'S': 'ssh-key', b'T': 'api-token', b'X': 'custom'}
OTHER_KINDS = {b'A': 'attachment', b'M': 'import record', b'P': 'password record', b'G': 'tag', b'V': 'settings'}


def kind_of(entity):
    return KINDS.get(entity[:1]) or OTHER_KINDS.get(entity[:1]) or f'kind {entity[:1].hex()}'


def entities(state):
    """All entities of a state with their keys, ascending."""
    found = {}
    for key in sorted(state.facts):
        found.setdefault(key[:17], []).append(key)
    return found


def described(vault, entity, keys, state=None):
    """An entity with its attributes, sets and conflicts, as JSON has it."""
    state = state or vault.state
    attributes, conflicts, unreadable = {}, {}, {}
    for key in keys:
        _, attribute, element = check_key(key, 'storage.tree.malformed-node', key.hex())
        one = shown.of_key(state, vault.values, key, entity, attribute)
        value = shown.value_for_people(one.value, entity, attribute)
        if one.failure is not None:
            unreadable[attribute] = one.failure.code
        if element:
            attributes.setdefault(attribute, []).append(value)
        else:
            attributes[attribute] = value
        if one.others:
            conflicts[attribute] = [shown.value_for_people(other, entity, attribute) for other in one.others]
    found = {'id': entity[1:].hex(), 'kind': kind_of(entity), 'title': title(attributes), 'attributes': attributes}
    if conflicts:
        found['conflicts'] = conflicts
    if unreadable:
        found['unreadable'] = unreadable
    return found


def title(attributes):
    """The title that is stored, or the first line of the text without its marks."""
    if isinstance(attributes.get('title'), str):
        return attributes['title']
    for line in str(attributes.get('text') or '').splitlines():
        if plain := line.strip().lstrip('#>-*+ ').strip():
            return plain
    return ''


def state_of(vault):
    return [described(vault, entity, keys) for entity, keys in entities(vault.state).items()]


def conflicts_of(vault):
    return [item for item in state_of(vault) if 'conflicts' in item]


def find(vault, wanted):
    """The entities that a text names: by the beginning of the UUID, or by the title."""
    found = []
    for entity, keys in entities(vault.state).items():
        if entity[1:].hex().startswith(wanted.lower()) or described(vault, entity, keys)['title'] == wanted:
            found.append(entity)
    if not found and len(wanted) == 32:
        found = [entry_entity for entry_entity in known_entities(vault) if entry_entity[1:].hex() == wanted.lower()]
    return found


def known_entities(vault):
    """Entities of all entries that are here, those that are gone too."""
    return sorted({key[:17] for entry in vault.entries.values() for change in _changes(vault, entry) for key in [change.key]})


def _changes(vault, entry):
    try:
        return changes_of(entry, vault.blobs, vault.values)
    except Failure:
        return []


def belongs(key, entity):
    """Whether a key is of an entity, or of one of its attachments, whose UUIDs begin alike (Spec/items.md section 7)."""
    return key[:17] == entity or key[:1] == b'A' and entity[:1] in KINDS and key[1:9] == entity[1:9]


def history(vault, entity):
    """The entries that changed an entity or its attachments, ascending by (height, instance, number)."""
    counted = vault.counted()
    rows = []
    for name, entry in vault.entries.items():
        changes = [change for change in _changes(vault, entry) if belongs(change.key, entity)]
        if not changes:
            continue
        rows.append((entry.height, entry.author.instance, entry.number, name, entry, changes))
    versions = [_version(vault, entry, changes, name in counted) for _, _, _, name, entry, changes in sorted(rows, key=lambda row: row[:4])]
    return _at_base(vault, entity) + versions


def _at_base(vault, entity):
    """What stands of an entity in the base's tree, where the history below it was dropped: its oldest version here."""
    if vault.kept is None or vault.kept.dropped is None:
        return []
    keys = {}
    for key, dot in vault.state.base:
        if key[:17] == entity:
            keys.setdefault(key, []).append(vault.state.base[(key, dot)])
    if not keys:
        return []
    state = State(fact for facts in keys.values() for fact in facts)
    return [{'base': vault.base, 'dropped': vault.kept.dropped, 'changes': described(vault, entity, sorted(keys), state)['attributes']}]


def _version(vault, entry, changes, counts):
    values = {}
    for change in changes:
        _, attribute, element = check_key(change.key, 'storage.entry.malformed', entry.place)
        try:
            raw = None if change.value is None else vault.values.shown(change.value)
            value = shown.value_for_people(raw, change.key[:17], attribute)
        except Failure as failure:
            value = {'unreadable': failure.code}
        label = f'{attribute}/{element.hex()}' if element else attribute
        values[label if change.key[:1] != b'A' else f'attachment {change.key[9:17].hex()} {label}'] = value
    found = {
        'entry': entry.name.hex(), 'instance': entry.author.instance.hex(), 'number': entry.number, 'height': entry.height,
        'time': entry.time, 'device': entry.author.device.hex(), 'changes': values,
    }  # fmt: skip
    if not counts:
        found['excluded'] = True
    return found


def state_hash(vault):
    """The hash by which an export compares vaults (Spec/export.md section 5): one value of each key, independent of who wrote it when."""
    out = b'coffret/state/1'
    for key in sorted(vault.state.facts):
        entity, attribute, element = check_key(key, 'storage.tree.malformed-node', key.hex())
        # Of texts their merge; of all others the value of the greatest height, of times too.
        as_text = shown.is_text(entity, attribute)
        if as_text:
            one = shown.of_key(vault.state, vault.values, key, entity, attribute)
            if one.failure is not None:
                raise one.failure
            value = one.value
        else:
            value = vault.values.shown(vault.state.current(key)[0].value)
        if as_text:
            value = cbor.encode(value.decode('utf-8', 'replace'))
        elif entity[:1] == b'A' and attribute == 'content':
            reference = attachments.Reference(cbor.decode(value), 'attachment')
            value = b'coffret/attachment/1' + u64(reference.size) + reference.plain
        elif entity[:1] == b'P' and attribute == 'hint':
            value = b'coffret/hint/1'
        out += lp(entity) + lp(attribute.encode()) + lp(element) + lp(value)
    return hashed(out)
