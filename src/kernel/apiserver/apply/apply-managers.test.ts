// Long, because it is one table: every rule of apply and of updates, with the owners before and after in full.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { objectWith, specSchema, typeWith, World } from "./testing/world.ts";

type Owners = Readonly<Record<string, readonly string[]>>;

interface Case {
  readonly name: string;
  readonly run: (world: World) => World;
  readonly spec: unknown;
  readonly owners?: Owners;
  readonly conflicts?: readonly string[];
}

const o = objectWith;
const item = (name: string, more: JsonObject = {}): JsonObject => ({ name, ...more });
const i = '.keyed[name="i"]';
const j = '.keyed[name="j"]';
const tcp = '.ports[port=80,protocol="TCP"]';

const cases: readonly Case[] = [
  // What an apply declares and gives up.
  {
    name: "the first apply creates and owns what it declares",
    run: (w) => w.apply("A", o({ a: "1", keyed: [item("i")] })),
    spec: { a: "1", keyed: [item("i")] },
    owners: { A: [".a", i, `${i}.name`] },
  },
  {
    name: "applying the same again changes nothing",
    run: (w) => w.apply("A", o({ a: "1" })).apply("A", o({ a: "1" })),
    spec: { a: "1" },
    owners: { A: [".a"] },
  },
  {
    name: "a field no longer declared goes",
    run: (w) => w.apply("A", o({ a: "1", b: "1" })).apply("A", o({ a: "1" })),
    spec: { a: "1" },
    owners: { A: [".a"] },
  },
  {
    name: "the last field of a struct takes the struct with it",
    run: (w) => w.apply("A", o({ a: "1", struct: { x: "1" } })).apply("A", o({ a: "1" })),
    spec: { a: "1" },
  },
  {
    name: "a struct declared as empty stays without its former field",
    run: (w) => w.apply("A", o({ struct: { x: "1" } })).apply("A", o({ struct: {} })),
    spec: { struct: {} },
    owners: { A: [".struct"] },
  },
  {
    name: "a key of a map goes, others stay",
    run: (w) => w.apply("A", o({ map: { k: "1", l: "1" } })).apply("A", o({ map: { k: "1" } })),
    spec: { map: { k: "1" } },
  },
  {
    name: "an item goes, the others keep their order",
    run: (w) =>
      w.apply("A", o({ keyed: [item("i"), item("j"), item("k")] })).apply("A", o({ keyed: [item("i"), item("k")] })),
    spec: { keyed: [item("i"), item("k")] },
  },
  {
    name: "the last item takes the list with it",
    run: (w) => w.apply("A", o({ a: "1", keyed: [item("i")] })).apply("A", o({ a: "1" })),
    spec: { a: "1" },
  },
  {
    name: "an empty keyed list declares nothing, not even that it is there",
    run: (w) => w.apply("A", o({ a: "1", keyed: [item("i")] })).apply("A", o({ a: "1", keyed: [] })),
    spec: { a: "1" },
    owners: { A: [".a"] },
  },
  {
    name: "a value of a set goes",
    run: (w) => w.apply("A", o({ set: ["x", "y"] })).apply("A", o({ set: ["y"] })),
    spec: { set: ["y"] },
    owners: { A: ['.set[="y"]'] },
  },
  {
    name: "a field of an item goes",
    run: (w) => w.apply("A", o({ keyed: [item("i", { value: "1" })] })).apply("A", o({ keyed: [item("i")] })),
    spec: { keyed: [item("i")] },
  },
  {
    name: "an atomic list is replaced",
    run: (w) => w.apply("A", o({ atomicList: ["x", "y"] })).apply("A", o({ atomicList: ["y"] })),
    spec: { atomicList: ["y"] },
  },
  {
    name: "an atomic map is replaced",
    run: (w) => w.apply("A", o({ atomicMap: { k: "1" } })).apply("A", o({ atomicMap: { l: "1" } })),
    spec: { atomicMap: { l: "1" } },
    owners: { A: [".atomicMap"] },
  },
  {
    name: "an item in an item goes",
    run: (w) =>
      w
        .apply("A", o({ keyed: [item("i", { inner: [{ id: 1 }, { id: 2 }] })] }))
        .apply("A", o({ keyed: [item("i", { inner: [{ id: 2 }] })] })),
    spec: { keyed: [item("i", { inner: [{ id: 2 }] })] },
  },
  {
    name: "items in the order of the newest document",
    run: (w) => w.apply("A", o({ keyed: [item("i"), item("j")] })).apply("A", o({ keyed: [item("j"), item("i")] })),
    spec: { keyed: [item("j"), item("i")] },
  },
  {
    name: "null in a document counts as absent",
    run: (w) => w.apply("A", o({ a: "1", b: "1" })).apply("A", o({ a: "1", b: null })),
    spec: { a: "1" },
    owners: { A: [".a"] },
  },
  {
    name: "a key of an unknown object goes",
    run: (w) => w.apply("A", o({ any: { k: { l: 1 }, m: 1 } })).apply("A", o({ any: { m: 1 } })),
    spec: { any: { m: 1 } },
  },
  {
    name: "an unknown object becomes a scalar",
    run: (w) => w.apply("A", o({ any: { k: { l: 1 } } })).apply("A", o({ any: { k: 1 } })),
    spec: { any: { k: 1 } },
    owners: { A: [".any.k"] },
  },
  // Several managers.
  {
    name: "two managers own different fields",
    run: (w) => w.apply("A", o({ a: "1" })).apply("B", o({ b: "1" })),
    spec: { a: "1", b: "1" },
    owners: { A: [".a"], B: [".b"] },
  },
  {
    name: "another value is a conflict, and nothing is stored",
    run: (w) => w.apply("A", o({ a: "1" })).apply("B", o({ a: "2", b: "1" })),
    spec: { a: "1" },
    owners: { A: [".a"] },
    conflicts: ["A .a"],
  },
  {
    name: "an equal value is shared",
    run: (w) => w.apply("A", o({ a: "1" })).apply("B", o({ a: "1" })),
    spec: { a: "1" },
    owners: { A: [".a"], B: [".a"] },
  },
  {
    name: "a shared field stays when one of its owners gives it up",
    run: (w) =>
      w
        .apply("A", o({ a: "1" }))
        .apply("B", o({ a: "1", b: "1" }))
        .apply("B", o({ b: "1" })),
    spec: { a: "1", b: "1" },
    owners: { A: [".a"], B: [".b"] },
  },
  {
    name: "a shared field goes when its last owner gives it up",
    run: (w) =>
      w
        .apply("A", o({ a: "1" }))
        .apply("B", o({ a: "1", b: "1" }))
        .apply("B", o({ b: "1" }))
        .apply("A", o({})),
    spec: { b: "1" },
    owners: { A: [""], B: [".b"] },
  },
  {
    name: "changing a shared field conflicts with all others",
    run: (w) =>
      w
        .apply("A", o({ a: "1" }))
        .apply("B", o({ a: "1" }))
        .apply("C", o({ a: "1" }))
        .apply("A", o({ a: "2" })),
    spec: { a: "1" },
    conflicts: ["B .a", "C .a"],
  },
  {
    name: "force takes a field away",
    run: (w) => w.apply("A", o({ a: "1", b: "1" })).apply("B", o({ a: "2" }), true),
    spec: { a: "2", b: "1" },
    owners: { A: [".b"], B: [".a"] },
  },
  {
    name: "a manager that lost its last field is forgotten",
    run: (w) => w.apply("A", o({ a: "1" })).apply("B", o({ a: "2" }), true),
    spec: { a: "2" },
    owners: { B: [".a"] },
  },
  {
    name: "who lost a field by force conflicts when it applies again",
    run: (w) =>
      w
        .apply("A", o({ a: "1", b: "1" }))
        .apply("B", o({ a: "2" }), true)
        .apply("A", o({ a: "1", b: "1" })),
    spec: { a: "2", b: "1" },
    conflicts: ["B .a"],
  },
  {
    name: "who lost a field by force may agree",
    run: (w) =>
      w
        .apply("A", o({ a: "1", b: "1" }))
        .apply("B", o({ a: "2" }), true)
        .apply("A", o({ a: "2", b: "1" })),
    spec: { a: "2", b: "1" },
    owners: { A: [".a", ".b"], B: [".a"] },
  },
  {
    name: "items of two managers join",
    run: (w) => w.apply("A", o({ keyed: [item("i")] })).apply("B", o({ keyed: [item("j")] })),
    spec: { keyed: [item("i"), item("j")] },
    owners: { A: [i, `${i}.name`], B: [j, `${j}.name`] },
  },
  {
    name: "one item of two managers: fields of both",
    run: (w) =>
      w
        .apply("A", o({ keyed: [item("i", { value: "1" })] }))
        .apply("B", o({ keyed: [item("i", { struct: { x: "1" } })] })),
    spec: { keyed: [item("i", { value: "1", struct: { x: "1" } })] },
    owners: { A: [i, `${i}.name`, `${i}.value`], B: [i, `${i}.name`, `${i}.struct.x`] },
  },
  {
    name: "an item of two managers loses what the one that leaves declared alone",
    run: (w) =>
      w
        .apply("A", o({ a: "1", keyed: [item("i", { value: "1" })] }))
        .apply("B", o({ keyed: [item("i", { struct: { x: "1" } })] }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", keyed: [item("i", { struct: { x: "1" } })] },
    owners: { A: [".a"], B: [i, `${i}.name`, `${i}.struct.x`] },
  },
  {
    name: "a conflict inside an item",
    run: (w) =>
      w.apply("A", o({ keyed: [item("i", { value: "1" })] })).apply("B", o({ keyed: [item("i", { value: "2" })] })),
    spec: { keyed: [item("i", { value: "1" })] },
    conflicts: [`A ${i}.value`],
  },
  {
    name: "several conflicts are told at once, by manager",
    run: (w) =>
      w
        .apply("B", o({ b: "1" }))
        .apply("A", o({ a: "1", map: { k: "1" } }))
        .apply("C", o({ a: "2", b: "2", map: { k: "2" } })),
    spec: { a: "1", b: "1", map: { k: "1" } },
    conflicts: ["A .a", "A .map.k", "B .b"],
  },
  {
    name: "an atomic list is one conflict",
    run: (w) => w.apply("A", o({ atomicList: ["x"] })).apply("B", o({ atomicList: ["x", "y"] })),
    spec: { atomicList: ["x"] },
    conflicts: ["A .atomicList"],
  },
  {
    name: "an equal atomic list is shared",
    run: (w) =>
      w
        .apply("A", o({ atomicList: ["x"] }))
        .apply("B", o({ atomicList: ["x"] }))
        .apply("A", o({ a: "1" })),
    spec: { atomicList: ["x"], a: "1" },
    owners: { A: [".a"], B: [".atomicList"] },
  },
  {
    name: "values of a set never conflict",
    run: (w) =>
      w
        .apply("A", o({ set: ["x", "y"] }))
        .apply("B", o({ set: ["y", "z"] }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", set: ["y", "z"] },
    owners: { A: [".a"], B: ['.set[="y"]', '.set[="z"]'] },
  },
  {
    name: "keys of a map stay with those who declare them",
    run: (w) =>
      w
        .apply("A", o({ map: { k: "1" } }))
        .apply("B", o({ map: { l: "1" } }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", map: { l: "1" } },
  },
  {
    name: "a struct that one gives up keeps what the other declares in it",
    run: (w) =>
      w
        .apply("A", o({ a: "1", struct: { x: "1" } }))
        .apply("B", o({ struct: { y: "1" } }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", struct: { y: "1" } },
  },
  {
    name: "ports are known by number and protocol, TCP when it is left out",
    run: (w) =>
      w
        .apply("A", o({ ports: [{ port: 80, name: "web" }] }))
        .apply("B", o({ ports: [{ port: 80, protocol: "UDP", name: "quic" }] })),
    spec: {
      ports: [
        { port: 80, name: "web" },
        { port: 80, protocol: "UDP", name: "quic" },
      ],
    },
    owners: {
      A: [tcp, `${tcp}.name`, `${tcp}.port`],
      B: [
        '.ports[port=80,protocol="UDP"]',
        '.ports[port=80,protocol="UDP"].name',
        '.ports[port=80,protocol="UDP"].port',
        '.ports[port=80,protocol="UDP"].protocol',
      ],
    },
  },
  {
    name: "a port whose protocol one leaves out and one writes is one port",
    run: (w) =>
      w.apply("A", o({ ports: [{ port: 80, name: "web" }] })).apply("B", o({ ports: [{ port: 80, protocol: "TCP" }] })),
    spec: { ports: [{ port: 80, name: "web", protocol: "TCP" }] },
    owners: { A: [tcp, `${tcp}.name`, `${tcp}.port`], B: [tcp, `${tcp}.port`, `${tcp}.protocol`] },
  },
  // Updates among applies.
  {
    name: "an update takes the fields it changes",
    run: (w) => w.apply("A", o({ a: "1", b: "1" })).update("U", o({ a: "2", b: "1" })),
    spec: { a: "2", b: "1" },
    owners: { A: [".b"], "U!": [".a"] },
  },
  {
    name: "an apply over an update's value is a conflict",
    run: (w) =>
      w
        .apply("A", o({ a: "1" }))
        .update("U", o({ a: "2" }))
        .apply("A", o({ a: "1" })),
    spec: { a: "2" },
    conflicts: ["U .a"],
  },
  {
    name: "an apply that agrees with an update shares",
    run: (w) =>
      w
        .apply("A", o({ a: "1" }))
        .update("U", o({ a: "2" }))
        .apply("A", o({ a: "2" })),
    spec: { a: "2" },
    owners: { A: [".a"], "U!": [".a"] },
  },
  {
    name: "an update that removes a field ends everybody's ownership",
    run: (w) =>
      w
        .apply("A", o({ a: "1", b: "1" }))
        .apply("B", o({ a: "1" }))
        .update("U", o({ b: "1" })),
    spec: { b: "1" },
    owners: { A: [".b"] },
  },
  {
    name: "a manager that applies and updates is two",
    run: (w) => w.update("A", o({ a: "1" })).apply("A", o({ a: "2" })),
    spec: { a: "1" },
    owners: { "A!": ["", ".a"] },
    conflicts: ["A .a"],
  },
  {
    name: "what an updater owns stays when an applier gives it up",
    run: (w) =>
      w
        .apply("A", o({ a: "1", b: "1" }))
        .update("U", o({ a: "1", b: "2" }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", b: "2" },
    owners: { A: [".a"], "U!": [".b"] },
  },
  {
    name: "an item with a field of an updater stays with its key",
    run: (w) =>
      w
        .apply("A", o({ a: "1", keyed: [item("i", { value: "1", struct: { x: "1" } })] }))
        .update("U", o({ a: "1", keyed: [item("i", { value: "2", struct: { x: "1" } })] }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", keyed: [item("i", { value: "2" })] },
    owners: { A: [".a"], "U!": [`${i}.value`] },
  },
  {
    name: "items an updater added stay",
    run: (w) =>
      w
        .apply("A", o({ a: "1", keyed: [item("i")] }))
        .update("U", o({ a: "1", keyed: [item("i"), item("j")] }))
        .apply("A", o({ a: "1" })),
    spec: { a: "1", keyed: [item("j")] },
  },
  {
    name: "two items of one key that an update left behave as one",
    run: (w) =>
      w.update("U", o({ keyed: [item("i", { value: "1" }), item("i", { value: "2" })] })).apply("A", o({ a: "1" })),
    spec: { a: "1", keyed: [item("i", { value: "1" }), item("i", { value: "2" })] },
    owners: { A: [".a"], "U!": ["", ".keyed", i] },
  },
  {
    name: "two items of one key become the one that is applied",
    run: (w) =>
      w
        .update("U", o({ keyed: [item("i", { value: "1" }), item("i", { value: "2" })] }))
        .apply("A", o({ keyed: [item("i", { value: "3" })] }), true),
    spec: { keyed: [item("i", { value: "3" })] },
    owners: { A: [i, `${i}.name`, `${i}.value`], "U!": ["", ".keyed"] },
  },
  {
    name: "a status update is another entry of its manager",
    run: (w) => w.update("U", o({ a: "1" })).update("U", { ...o({ a: "1" }), status: { phase: "Done" } }, "status"),
    spec: { a: "1" },
  },
  // What nobody owns.
  {
    name: "a default inside an item goes with the item",
    run: (w) => {
      w.apply("A", o({ a: "1", keyed: [item("i")] }));
      w.live = o({ a: "1", keyed: [item("i", { value: "default" })] });
      return w.apply("A", o({ a: "1" }));
    },
    spec: { a: "1" },
  },
  {
    name: "a default inside a struct goes with the struct",
    run: (w) => {
      w.apply("A", o({ a: "1", struct: { x: "1" } }));
      w.live = o({ a: "1", struct: { x: "1", y: "default" } });
      return w.apply("A", o({ a: "1" }));
    },
    spec: { a: "1" },
  },
  {
    name: "a default stays in a struct that stays",
    run: (w) => {
      w.apply("A", o({ struct: { x: "1" }, keyed: [item("i", { value: "1" })] }));
      w.live = o({ struct: { x: "1", y: "default" }, keyed: [item("i", { value: "1", struct: { x: "default" } })] });
      return w.apply("A", o({ struct: { x: "1" }, keyed: [item("i")] }));
    },
    spec: { struct: { x: "1", y: "default" }, keyed: [item("i", { struct: { x: "default" } })] },
  },
  {
    name: "an item nobody owns stays beside the declared ones",
    run: (w) => {
      w.apply("A", o({ keyed: [item("i"), item("j")] }));
      w.live = o({ keyed: [item("i"), item("dangling"), item("j")] });
      return w.apply("A", o({ keyed: [item("i")] }));
    },
    spec: { keyed: [item("i"), item("dangling")] },
  },
  {
    name: "a value nobody owns stays in a set",
    run: (w) => {
      w.apply("A", o({ set: ["x", "y"] }));
      w.live = o({ set: ["x", "dangling", "y"] });
      return w.apply("A", o({ set: ["x"] }));
    },
    spec: { set: ["x", "dangling"] },
  },
  {
    name: "a key nobody owns stays in a map",
    run: (w) => {
      w.apply("A", o({ map: { k: "1", l: "1" } }));
      w.live = o({ map: { k: "1", l: "1", dangling: "1" } });
      return w.apply("A", o({ map: { k: "1" } }));
    },
    spec: { map: { k: "1", dangling: "1" } },
  },
  {
    name: "changing what nobody owns is no conflict",
    run: (w) => {
      w.apply("A", o({ a: "1" }));
      w.live = o({ a: "1", b: "default" });
      return w.apply("B", o({ b: "2" }));
    },
    spec: { a: "1", b: "2" },
    owners: { A: [".a"], B: [".b"] },
  },
  // Objects nobody has owned yet.
  {
    name: "fields without owners belong to before-first-apply from the first apply on",
    run: (w) => {
      w.live = o({ a: "1", b: "1" });
      return w.apply("A", o({ a: "1" }));
    },
    spec: { a: "1", b: "1" },
    owners: { "before-first-apply!": ["", ".a", ".b"], A: [".a"] },
  },
  {
    name: "taking a field from before-first-apply is a conflict",
    run: (w) => {
      w.live = o({ a: "1" });
      return w.apply("A", o({ a: "2" }));
    },
    spec: { a: "1" },
    conflicts: ["before-first-apply .a"],
  },
  // Names.
  {
    name: "names that objects inherit are names",
    run: (w) => {
      const map = JSON.parse('{"__proto__":"1","constructor":"1","k":"1"}') as JsonObject;
      return w.apply("A", o({ map })).apply("A", o({ map: JSON.parse('{"__proto__":"1"}') as JsonObject }));
    },
    spec: { map: JSON.parse('{"__proto__":"1"}') },
    owners: { A: [".map.__proto__"] },
  },
  {
    name: "a name with a dot and a slash is one element",
    run: (w) => w.apply("A", o({ map: { "a.b/c": "1" } })).apply("B", o({ map: { "a.b/c": "2" } })),
    spec: { map: { "a.b/c": "1" } },
    conflicts: ["A .map.a.b/c"],
  },
];

describe("apply and update", () => {
  test.each(cases)("$name", ({ run, spec, owners, conflicts = [] }) => {
    const world = run(new World());
    expect(world.conflictTexts).toEqual(conflicts);
    expect(JSON.stringify(sorted(world.spec))).toBe(JSON.stringify(sorted(spec)));
    if (owners !== undefined) expect(world.owners).toEqual(owners);
  });
});

/** Members in order, so that `__proto__` is compared as well and the order of items counts. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
}

describe("times", () => {
  const timesOf = (world: World) => Object.fromEntries(world.managers.map(({ name, time }) => [name, time]));

  test("an apply that changes nothing leaves the very object and the very managers", () => {
    const world = new World().apply("A", o({ a: "1" })).apply("B", o({ b: "1" }));
    const { live, managers } = world;
    world.apply("A", o({ a: "1" }));
    expect(world.live).toBe(live);
    expect(world.managers).toBe(managers);
  });

  test("an apply that changes a value moves its manager's time, though its set is the same", () => {
    const world = new World().apply("A", o({ a: "1" })).apply("A", o({ a: "2" }));
    expect(timesOf(world)).toEqual({ A: "2024-01-01T00:02:00Z" });
  });

  test("an update that owns what it changes already keeps its time", () => {
    const world = new World().update("U", o({ a: "1" })).update("U", o({ a: "2" }));
    expect(timesOf(world)).toEqual({ U: "2024-01-01T00:01:00Z" });
  });

  test("an update that gets one more field moves its time, and nobody else's", () => {
    const world = new World().apply("A", o({ a: "1" })).update("U", o({ a: "1", b: "1" }));
    world.update("U", o({ a: "1", b: "1", number: 1 }));
    expect(timesOf(world)).toEqual({ A: "2024-01-01T00:01:00Z", U: "2024-01-01T00:03:00Z" });
  });

  test("losing a field does not move the loser's time", () => {
    const world = new World().apply("A", o({ a: "1", b: "1" })).apply("B", o({ a: "2" }), true);
    expect(timesOf(world)).toEqual({ A: "2024-01-01T00:01:00Z", B: "2024-01-01T00:02:00Z" });
  });
});

describe("a schema that changed", () => {
  const changedTo = (changes: JsonObject) =>
    typeWith({ ...specSchema, properties: { ...(specSchema["properties"] as JsonObject), ...changes } });
  const atomic = { type: "array", "x-kubernetes-list-type": "atomic", items: { type: "object" } };

  test("owners of items of a list that became atomic own the list", () => {
    const world = new World().apply("A", o({ keyed: [item("i")] })).apply("B", o({ keyed: [item("j")] }));
    world.type = changedTo({ keyed: atomic });
    world.apply("C", o({ a: "1" }));
    expect(world.owners).toEqual({ A: [".keyed"], B: [".keyed"], C: [".a"] });
  });

  test("a list that became atomic is a conflict as a whole", () => {
    const world = new World().apply("A", o({ keyed: [item("i")] }));
    world.type = changedTo({ keyed: atomic });
    world.apply("B", o({ keyed: [item("j")] }));
    expect(world.conflictTexts).toEqual(["A .keyed"]);
  });

  test("a map that became atomic belongs to the owners of its keys", () => {
    const world = new World().apply("A", o({ map: { k: "1" } }));
    world.type = changedTo({
      map: { type: "object", "x-kubernetes-map-type": "atomic", additionalProperties: { type: "string" } },
    });
    world.update("U", o({ map: { k: "1" }, a: "1" }));
    expect(world.owners).toEqual({ A: [".map"], "U!": [".a"] });
  });

  test("the owner of a list that became keyed keeps it and owns its items with the next apply", () => {
    const world = new World(changedTo({ keyed: atomic })).apply("A", o({ keyed: [item("i"), item("j")] }));
    expect(world.owners).toEqual({ A: [".keyed"] });
    world.type = new World().type;
    world.apply("A", o({ keyed: [item("i"), item("j")] }));
    expect(world.owners).toEqual({ A: [i, j, `${i}.name`, `${j}.name`] });
    expect(world.spec).toEqual({ keyed: [item("i"), item("j")] });
  });

  test("a set written for the same schema is not looked through twice", () => {
    const world = new World().apply("A", o({ a: "1", map: { k: "1" } }));
    const [before] = world.managers;
    world.update("U", o({ a: "1", map: { k: "1" }, b: "1" }));
    expect(world.managers[0]).toBe(before);
  });
});

describe("kubectl's last-applied annotation", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const annotated = (spec: JsonObject, declared: JsonObject | string): JsonObject => {
    const text = typeof declared === "string" ? declared : JSON.stringify(o(declared));
    return { ...o(spec), metadata: { name: "t", namespace: "default", annotations: { [annotation]: text } } };
  };
  const annotationsOf = (world: World) =>
    (world.live as { readonly metadata: { readonly annotations: JsonObject } }).metadata.annotations;
  const textOf = (world: World) => annotationsOf(world)[annotation] as string;

  test("fields that the annotation declares are no conflict for kubectl", () => {
    const world = new World().update("kubectl-client-side-apply", annotated({ a: "1", b: "1" }, { a: "1", b: "1" }));
    world.apply("kubectl", o({ a: "2", b: "1" }));
    expect(world.conflictTexts).toEqual([]);
    expect(world.spec).toEqual({ a: "2", b: "1" });
    expect(world.owners["kubectl"]).toEqual([".a", ".b"]);
  });

  test("they are for another manager", () => {
    const world = new World().update("kubectl-client-side-apply", annotated({ a: "1" }, { a: "1" }));
    expect(world.apply("other", o({ a: "2" })).conflictTexts).toEqual(["kubectl-client-side-apply .a"]);
  });

  test("fields that have other values than declared are conflicts, and only they are told", () => {
    const world = new World().update("scaler", annotated({ a: "changed", b: "1" }, { a: "1", b: "1" }));
    expect(world.apply("kubectl", o({ a: "2", b: "2" })).conflictTexts).toEqual(["scaler .a"]);
  });

  test.each([
    ["no annotation", ""],
    ["an annotation that is no JSON", "{"],
    ["an annotation that is no object", "[]"],
    ["an annotation of another version", JSON.stringify({ ...o({ a: "1" }), apiVersion: "example.org/v2" })],
  ])("%s allows nothing", (_name, text) => {
    const world = new World().update("other", annotated({ a: "1" }, text));
    expect(world.apply("kubectl", o({ a: "2" })).conflictTexts).toEqual(["other .a"]);
  });

  test("the annotation is renewed, members in order, without itself", () => {
    const world = new World().update("kubectl-client-side-apply", annotated({ a: "1" }, { a: "1" }));
    world.apply("kubectl", { ...annotated({ b: "2", a: "1" }, "old"), spec: { b: "2", a: "1" } }, true);
    expect(textOf(world)).toBe(
      '{"apiVersion":"example.org/v1","kind":"Thing","metadata":{"annotations":{},"name":"t","namespace":"default"},"spec":{"a":"1","b":"2"}}\n',
    );
  });

  test("another manager leaves the annotation alone", () => {
    const world = new World().update("x", annotated({ a: "1" }, { a: "1" }));
    const before = textOf(world);
    world.apply("other", o({ b: "1" }));
    expect(textOf(world)).toBe(before);
  });

  test("an object without the annotation gets none", () => {
    const world = new World().apply("kubectl", o({ a: "1" }));
    expect(world.live?.["metadata"]).toEqual({ name: "t", namespace: "default" });
  });

  test("an annotation that would be larger than all annotations may be goes", () => {
    const world = new World().update("x", annotated({ a: "1" }, { a: "1" }));
    world.apply("kubectl", o({ map: { k: "x".repeat(300_000) } }));
    expect(annotationsOf(world)).toEqual({});
  });
});
