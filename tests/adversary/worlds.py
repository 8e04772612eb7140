"""Scripts out of seeds: trees, requests, and what goes wrong."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.accidents import Accidents
from tests.adversary.alike import alike
from tests.adversary.archived import archive
from tests.adversary.attempts import twice_at_once
from tests.adversary.attributes import foreign
from tests.adversary.certified import certify
from tests.adversary.computing import compute
from tests.adversary.deeds import deletion, in_turn, lost, overslept, soon
from tests.adversary.draws import more_draws
from tests.adversary.events import of_events
from tests.adversary.fields import closing, more_fields
from tests.adversary.hangs import hung
from tests.adversary.keeping import keep
from tests.adversary.kinds import draw_kinds
from tests.adversary.moves import move, opened
from tests.adversary.plain_user import draw_plain
from tests.adversary.published import publish
from tests.adversary.refused import refused
from tests.adversary.remedies import remedied
from tests.adversary.robbed import with_forgers, with_thieves
from tests.adversary.s3_files import draw_kind
from tests.adversary.script import (
    DIRECTIONS,
    INSIDE_S3,
    MOUNT_TO_S3,
    S3_TO_MOUNT,
    TWO_MOUNTS,
    Act,
    Change,
    Fault,
    Script,
    Spec,
)
from tests.adversary.services import draw_services
from tests.adversary.vocabulary import (
    DEEP,
    DIRECTORY_MODES,
    IN_TURN,
    KEYS,
    MODES,
    MOUNT_NAMES,
    NAMES,
    OF_PARTS,
    OS_IN_TURN,
    OWNERS,
    SIZES,
)


def script_of(seed: int) -> Script:
    """The script of a seed."""
    return _Author(seed).script()


class _Author:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.draw = Random(seed)
        self.direction = DIRECTIONS[seed % len(DIRECTIONS)]
        self.from_s3 = self.direction in (S3_TO_MOUNT, INSIDE_S3)
        self.to_s3 = self.direction in (MOUNT_TO_S3, INSIDE_S3)
        self.with_s3 = self.from_s3 or self.to_s3
        self.accidents = Accidents(self.draw, self.direction, with_s3=self.with_s3)
        table = IN_TURN.get(self.direction, OS_IN_TURN)
        self.turn = table[seed // len(DIRECTIONS) % len(table)]

    def script(self) -> Script:
        draw = self.draw
        source, lists = self.tree(), self.turn[0] == "s3:ListObjectsV2"
        destination = self.older(source)
        options = self.options(source)
        keep(Random(f"keep {self.seed}"), self.direction, options)  # a stream of its own: the rest is drawn as before
        more_fields(Random(f"fields {self.seed}"), self.direction, options)
        move(Random(f"move {self.seed}"), options)
        certify(Random(f"certificate {self.seed}"), options)
        acts = self.acts(source, destination, options)
        source, destination = publish(Random(f"published {self.seed}"), self.direction, (source, destination), options)
        source, acts = opened(Random(f"opened {self.seed}"), self.direction, source, options, acts)
        acts = remedied(Random(f"remedy {self.seed}"), self.direction, (source, destination), options, acts)
        acts = alike(Random(f"alike {self.seed}"), self.direction, source, options, acts)
        acts = in_turn(self.draw, self.turn, acts, options)
        if self.from_s3:
            source = foreign(Random(f"source {self.seed}"), source, self.direction)
            source = archive(Random(f"archived {self.seed}"), self.direction, source, options)
        if self.to_s3:
            destination = foreign(Random(f"destination {self.seed}"), destination, self.direction)
        jobs, acts = compute(Random(f"computed {self.seed}"), self.direction, options, acts)
        skew_seconds = draw.choice((0, 0, 0, 0, 3, -3, 40, -40)) if self.with_s3 else 0
        in_s3 = draw.random() < 0.25
        acts = closing(Random(f"closing {self.seed}"), acts, options)
        short = Random(f"short {self.seed}").random() < 0.5
        acts = overslept(Random(f"overslept {self.seed}"), acts, short=short)
        kinds = Random(f"kinds {self.seed}")
        destination = draw_kinds(kinds, self.direction, source, destination, options)
        drawn = draw_plain(Random(f"plain {self.seed}"), self.direction, (source, destination), options)
        source, destination, plain = drawn
        acts = twice_at_once(Random(f"twice {self.seed}"), acts)
        acts = hung(Random(f"hung {self.seed}"), acts)
        acts = with_thieves(Random(f"thieves {self.seed}"), self.direction, acts)
        acts = more_draws(self.seed, self.direction, source, options, acts)
        acts = with_forgers(Random(f"forgers {self.seed}"), self.direction, acts)
        asked = options.keys() | {name for act in acts for name in act.options}
        return Script(
            self.seed,
            self.direction,
            source,
            destination,
            acts if plain else refused(Random(f"refused {self.seed}"), self.direction, drawn[:2], in_s3, acts),
            options,
            skew_seconds=skew_seconds,
            ledger_in_s3=in_s3,
            short=short,
            s3_files=draw_kind(Random(f"s3 files {self.seed}"), self.direction, options),
            jobs=jobs,
            plain=plain,
            events=of_events(Random(f"events {self.seed}"), self.direction, options),
            page_keys=draw.choice((3, 7, 7, 3 if lists else 1000)),
            services=draw_services(Random(f"services {self.seed}"), asked, is_new=not destination),
        )

    def tree(self) -> tuple[Spec, ...]:
        """A tree of the source."""
        draw = self.draw
        directories = [""] + [f"d{number}/" for number in range(draw.randint(1, 3))]
        directories += [f"{draw.choice(directories[1:])}e{number}/" for number in range(draw.randint(0, 2))]
        if draw.random() < 0.03:
            directories.append("p/" * (draw.choice((30, 30, DEEP)) if not self.with_s3 else 30))
        specs = [
            Spec(path.rstrip("/") if not self.from_s3 else path, "directory", mode=draw.choice(DIRECTORY_MODES))
            for path in directories[1:]
            if not self.from_s3 or draw.random() < 0.6
        ]
        names = [*NAMES, *(() if self.from_s3 else MOUNT_NAMES if draw.random() < 0.1 else ())]
        for number in range(draw.randint(3, 18)):
            name = draw.choice(names) if draw.random() < 0.4 else f"f{number}"
            specs.append(self.entry(draw.choice(directories) + name, specs))
        if self.from_s3 and draw.random() < 0.2:
            specs.append(Spec(draw.choice(KEYS), size=draw.choice(SIZES[:4]), seed=1))
        if self.turn[0] in OF_PARTS:
            specs.append(Spec("large", size=60_000, seed=self.seed + 1))
        seen: set[str] = set()
        return tuple(spec for spec in specs if not (spec.path in seen or seen.add(spec.path)))  # type: ignore[func-returns-value]

    def entry(self, path: str, above: list[Spec]) -> Spec:
        draw = self.draw
        chance = draw.random()
        files = [one.path for one in above if one.kind == "file"]
        mtime_ns = 1_700_000_000_000_000_000 + draw.randrange(10**17)
        if chance < 0.07:
            return Spec(path, "symlink", target=draw.choice((*files[:1], "nowhere", "../canary/secret", "/etc/passwd")))
        if chance < 0.10 and not self.from_s3:
            return Spec(path, "fifo")
        if chance < 0.2 and files and not self.from_s3:
            return Spec(path, "link", target=draw.choice(files))
        mode: int | None = draw.choice(MODES)
        uid, gid = draw.choice(OWNERS), draw.choice(OWNERS)
        if not self.from_s3:
            uid, gid = uid if uid in (0, 1000) else 0, gid if gid in (0, 1000) else 0
        elif draw.random() < 0.3:
            mode = None
        size = draw.choice(SIZES) if draw.random() < 0.5 else draw.randrange(9000)
        return Spec(path, "file", size, draw.randrange(1, 10**6), mode, mtime_ns, "", uid, gid)

    def older(self, source: tuple[Spec, ...]) -> tuple[Spec, ...]:
        """What the destination holds at first: some of the source, some of it older, some of its own."""
        draw = self.draw
        deletes = self.turn[0] == "s3:DeleteObjects"
        if draw.random() < 0.35 and not deletes:
            return ()
        specs = []
        for spec in source:
            chance = draw.random()
            path = spec.path.rstrip("/") if not self.to_s3 else spec.path
            if spec.kind not in ("file", "directory") or chance < 0.5 or "\udcff" in path:
                continue
            if spec.kind == "directory":
                specs.append(
                    replace(spec, path=f"{path.rstrip('/')}/" if self.to_s3 else path, mode=spec.mode or 0o755)
                )
            elif chance < 0.75:
                specs.append(replace(spec, path=path, mode=spec.mode or 0o644, uid=0, gid=0))
            else:
                specs.append(replace(spec, path=path, seed=spec.seed + 10**6, mode=spec.mode or 0o644, uid=0, gid=0))
        for number in range(draw.randint(2 if deletes else 0, 6)):
            specs.append(Spec(f"{draw.choice(('', 'd0/', 'old/'))}extra{number}", size=draw.randrange(100), seed=7))
        return tuple(specs)

    def options(self, source: tuple[Spec, ...]) -> dict[str, Any]:
        """The request beside its ends."""
        draw = self.draw
        apart = self.direction == TWO_MOUNTS
        options: dict[str, Any] = {}
        if self.turn[0] == "s3:DeleteObjects":
            return {"mode": "sync", "delete_guard": {"max_percent": 100.0}}
        if draw.random() < 0.35 and not apart:
            options["mode"] = "sync"
            options["delete_guard"] = {"max_percent": draw.choice((10.0, 60.0, 100.0, 100.0))}
        if draw.random() < 0.5:
            options["verify"] = draw.choice(("copied", "all"))
        if draw.random() < 0.3:
            options["compare"] = draw.choice(("always",) if apart else ("always", "checksum"))
        if draw.random() < 0.15:
            symlinks = draw.choice(("skip", "follow"))
            options |= {} if self.direction == INSIDE_S3 else {"symlinks": symlinks}
        if draw.random() < 0.15:
            options["exclude"] = [draw.choice(("d1/", "*.txt", "f1*", "e0/**"))]
        if draw.random() < 0.08:
            options["include"] = [draw.choice(("d0/**", "f*"))]
        if draw.random() < 0.08:
            options["max_size"] = 9000
        if draw.random() < 0.1:
            options["on_conflict"] = "skip"
        if draw.random() < 0.6:
            options["limits"] = {"shard_seconds": 0.1}
        plain = not options.keys() & {"exclude", "include", "max_size", "on_conflict"} and options.get("mode") != "sync"
        if plain and draw.random() < 0.25 and self.direction in (S3_TO_MOUNT, MOUNT_TO_S3):
            options["on_conflict"] = "escape"
        elif (
            draw.random() < 0.18 and options.get("mode") != "sync" and not apart and options.get("symlinks") != "follow"
        ):
            options["manifest"] = "s3://lists-bucket/list.jsonl"
        return options

    def acts(self, source: tuple[Spec, ...], destination: tuple[Spec, ...], options: dict[str, Any]) -> tuple[Act, ...]:
        """What happens."""
        draw = self.draw
        wait = Act("wait", seconds=draw.randint(5, 30))
        last = Act("run", "last")
        changes = [Act("change", change=self.accidents.change(source)) for _ in range(draw.randint(0, 3))]
        if options.get("mode") == "sync" and draw.random() < 0.4:
            return (*deletion(draw, source, destination), wait, *changes, wait, last)
        chance = draw.random()
        if chance < 0.35:
            first = Act("run", "r1", faults=self.accidents.faults(source))
            return (first, wait, *changes, wait, last)
        if chance < 0.5:
            stop = Fault(
                *draw.choice((("any", soon(draw, 300)), (self.accidents.state("any"), soon(draw, 40)))), "stop"
            )
            first = Act("run", "r1", faults=(stop, *self.accidents.faults(source)))
            gone = lost(draw, "r1") if draw.random() < 0.3 else ()
            again = Act(
                "run", "r2", {"resume_from": "r1"}, self.accidents.faults(source) if draw.random() < 0.5 else ()
            )
            return (first, wait, *gone, again, wait, *changes, wait, last)
        if chance < 0.65:
            meanwhile = (*changes, Act("change", change=self.accidents.change(source)), wait, Act("run", "z"), wait)
            kind = draw.choice(
                ("s3:PutObject", "s3:CompleteMultipartUpload")
                if self.to_s3
                else ("os:rename", "os:link", "os:create", "os:pwrite", "os:utime")
            )
            kind = draw.choice((kind, kind, kind, "any", self.accidents.state("any")))
            freeze = Fault(kind, soon(draw, 12 if kind != "any" else 300), "freeze", acts=meanwhile)
            return (Act("run", "r1", faults=(freeze,)), wait, last)
        if chance < 0.85:
            return self.three_runs(source, wait, last)
        if chance < 0.9:
            other = Act("run", "x", draw.choice(({}, {"compare": "always"}, {"mode": "copy"})))
            beside = Fault("any", soon(draw, 300), "another run", acts=(other,))
            return (Act("run", "r1", faults=(beside, *self.accidents.faults(source)[:1])), wait, last)
        gone = lost(draw, "r1")
        stop = Fault(draw.choice(("copy/any", "copy/any", "finish/any", "pack/any")), soon(draw, 100), "stop")
        first = Act("run", "r1", faults=(stop,))
        return (first, wait, *gone, Act("run", "r2", {"resume_from": "r1"}), wait, last)

    def three_runs(self, source: tuple[Spec, ...], wait: Act, last: Act) -> tuple[Act, ...]:
        """Runs of one transfer with another between, and the source goes forward and back."""
        draw = self.draw
        files = [spec.path for spec in source if spec.kind == "file"] or ["f0"]
        directories = [path.partition("/")[0] for path in files if "/" in path]
        if self.from_s3 or not directories:
            path, there, back = draw.choice(files), "rewrite-now", "roll-back" if self.from_s3 else "rewrite"
        else:
            path, there, back = draw.choice(directories), "turn", "turn-back"
        between: dict[str, Any] = draw.choice(({"compare": "always"}, {"compare": "checksum"}, {"exclude": ["f3"]}, {}))
        forward = Act("change", change=Change(there, path, draw.randrange(1, 10**6)))
        backward = Act("change", change=Change(back, path, 0))
        second = Act("run", "r2", between, self.accidents.faults(source)[:1] if draw.random() < 0.4 else ())
        return (Act("run", "r1"), wait, forward, wait, second, wait, backward, wait, last)
