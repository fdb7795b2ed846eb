import { describe, expect, test } from "vitest";
import { deepFreeze, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { ancientChanges, capUpdaters, maxUpdaters } from "./update-managers.ts";
import {
  asksToForget,
  decodeManagers,
  encodeManagers,
  isSameManager,
  isSameOwnership,
  type Manager,
} from "./managers.ts";
import { printed } from "./testing/world.ts";

const entry: JsonObject = {
  manager: "m",
  operation: "Apply",
  apiVersion: "v1",
  time: "2024-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:data": { "f:a": {} } },
};

const manager = (name: string, more: Partial<Manager> = {}): Manager => ({
  name,
  operation: "Update",
  apiVersion: "v1",
  subresource: "",
  time: "2024-01-01T00:00:00Z",
  fields: { [`f:${name}`]: {} },
  ...more,
});

const decode = (value: JsonValue | undefined) => {
  const read = decodeManagers(value);
  if (!read.ok) throw new Error(read.error);
  return read.value;
};

describe("reading entries", () => {
  test("an entry comes back as it was", () => {
    const list = [entry, { ...entry, operation: "Update", subresource: "status" }];
    expect(encodeManagers(decode(list), list)).toBe(list);
    expect(encodeManagers(decode(list))).toEqual(list);
  });

  test("absent is nobody", () => {
    expect([decode(undefined), decode(null), decode([])]).toEqual([[], [], []]);
    expect(encodeManagers([])).toBeUndefined();
  });

  test("members with their zero values count as absent", () => {
    const { time: _time, ...timeless } = entry;
    const [read] = decode([{ ...timeless, time: null, subresource: "" }]);
    expect(encodeManagers(read === undefined ? [] : [read])).toEqual([timeless]);
  });

  test("an entry without fields has an empty set", () => {
    const { fieldsV1: _fields, ...bare } = entry;
    expect(decode([bare])[0]?.fields).toEqual({});
  });

  test("two entries of one manager: the later one counts", () => {
    const later = { ...entry, apiVersion: "v2", fieldsV1: { "f:b": {} } };
    expect(encodeManagers(decode([entry, later]))).toEqual([later]);
  });

  test("a frozen list is read once", () => {
    const list = deepFreeze([entry]);
    expect(decode(list)).toBe(decode(list));
  });

  test.each<[string, JsonValue, string]>([
    ["no list", {}, "managedFields must be a list"],
    ["no object", ["x"], "managedFields[0]: it must be an object"],
    ["no operation", [{ ...entry, operation: "" }], 'managedFields[0]: operation must be "Apply" or "Update"'],
    [
      "another operation",
      [entry, { ...entry, operation: "Delete" }],
      'managedFields[1]: operation must be "Apply" or "Update"',
    ],
    ["no version", [{ ...entry, apiVersion: "" }], "managedFields[0]: apiVersion must not be empty"],
    ["no type of fields", [{ ...entry, fieldsType: "" }], 'managedFields[0]: fieldsType must be "FieldsV1"'],
    [
      "another type of fields",
      [{ ...entry, fieldsType: "FieldsV2" }],
      'managedFields[0]: fieldsType must be "FieldsV1"',
    ],
    [
      "a long name",
      [{ ...entry, manager: "x".repeat(129) }],
      "managedFields[0]: manager must be a text of at most 128 printable characters",
    ],
    [
      "a name that is not printable",
      [{ ...entry, manager: "a\u0007" }],
      "managedFields[0]: manager must be a text of at most 128 printable characters",
    ],
    [
      "a name that is no text",
      [{ ...entry, manager: 1 }],
      "managedFields[0]: manager must be a text of at most 128 printable characters",
    ],
    ["a subresource that is no text", [{ ...entry, subresource: 1 }], "managedFields[0]: subresource must be a text"],
    ["a time that is none", [{ ...entry, time: "yesterday" }], "managedFields[0]: time must be an RFC 3339 time"],
    ["fields that are none", [{ ...entry, fieldsV1: { a: {} } }], "managedFields[0]: fieldsV1 is no set of fields"],
  ])("%s is refused", (_name, value, message) => {
    expect(decodeManagers(value)).toEqual({ ok: false, error: message });
  });

  test.each<[JsonValue | undefined, boolean]>([
    [[], true],
    [[{}], true],
    [undefined, false],
    [null, false],
    [[{}, {}], false],
    [[entry], false],
  ])("%j asks to forget all owners: %s", (value, expected) => {
    expect(asksToForget(value)).toBe(expected);
  });
});

test("appliers come first, then by time, name, version and subresource", () => {
  const order = [
    manager("z", { operation: "Apply" }),
    manager("c", { time: undefined }),
    manager("a"),
    manager("a", { apiVersion: "v2" }),
    manager("a", { apiVersion: "v2", subresource: "status" }),
    manager("b"),
    manager("a", { time: "2024-01-01T00:00:01Z", apiVersion: "v3" }),
  ];
  const written = encodeManagers([...order].reverse());
  expect(
    decode(written).map(({ name, apiVersion, subresource, time }) => [name, apiVersion, subresource, time]),
  ).toEqual(order.map(({ name, apiVersion, subresource, time }) => [name, apiVersion, subresource, time]));
});

test("an applier is one whatever its version, an updater is not", () => {
  const applier = manager("a", { operation: "Apply" });
  expect(isSameManager(applier, { ...applier, apiVersion: "v2" })).toBe(true);
  expect(isSameManager(manager("a"), manager("a", { apiVersion: "v2" }))).toBe(false);
  expect(isSameManager(manager("a"), applier)).toBe(false);
  expect(isSameManager(manager("a"), manager("a", { subresource: "status" }))).toBe(false);
});

test("ownership is the same whenever it began and in whatever order", () => {
  const [a, b] = [manager("a"), manager("b")];
  expect(isSameOwnership([a, b], [b, { ...a, time: "2025-01-01T00:00:00Z" }])).toBe(true);
  expect(isSameOwnership([a], [a, b])).toBe(false);
  expect(isSameOwnership([a], [{ ...a, fields: {} }])).toBe(false);
});

describe("many updaters", () => {
  const many = (count: number, more: (index: number) => Partial<Manager> = () => ({})) =>
    Array.from({ length: count }, (_, at) =>
      manager(`m${String(at).padStart(2, "0")}`, {
        time: `2024-01-01T00:00:${String(at).padStart(2, "0")}Z`,
        ...more(at),
      }),
    );
  const names = (managers: readonly Manager[]) => managers.map(({ name }) => name);

  test("as many as may be stay as they are", () => {
    const managers = many(maxUpdaters);
    expect(capUpdaters(managers)).toBe(managers);
  });

  test("the two oldest become one when there is one too many", () => {
    const managers = capUpdaters(many(maxUpdaters + 1));
    expect(managers).toHaveLength(maxUpdaters);
    const ancient = managers.find(({ name }) => name === ancientChanges);
    expect(printed(ancient?.fields ?? {})).toEqual([".m00", ".m01"]);
    expect(ancient?.time).toBe("2024-01-01T00:00:01Z");
  });

  test("the next one joins those before it", () => {
    const managers = capUpdaters([
      ...capUpdaters(many(maxUpdaters + 1)),
      manager("new", { time: "2024-02-01T00:00:00Z" }),
    ]);
    const ancients = managers.filter(({ name }) => name === ancientChanges);
    expect(ancients.map(({ fields }) => printed(fields))).toEqual([[".m00", ".m01", ".m02"]]);
    expect(managers).toHaveLength(maxUpdaters);
  });

  test("appliers do not count and are not joined", () => {
    const appliers = many(20, (at) => ({ operation: "Apply", name: `a${at}` }));
    const managers = capUpdaters([...appliers, ...many(maxUpdaters + 2)]);
    expect(managers.filter(({ operation }) => operation === "Apply")).toEqual(appliers);
    expect(managers.filter(({ operation }) => operation === "Update")).toHaveLength(maxUpdaters);
  });

  test("versions are not mixed", () => {
    const managers = capUpdaters(many(maxUpdaters + 2, (at) => ({ apiVersion: at % 2 === 0 ? "v1" : "v2" })));
    const ancients = managers.filter(({ name }) => name === ancientChanges);
    expect(ancients.map(({ apiVersion, fields }) => [apiVersion, printed(fields)])).toEqual([
      ["v1", [".m00", ".m02"]],
      ["v2", [".m01", ".m03"]],
    ]);
  });

  test("one of each version: nothing can be joined", () => {
    const managers = many(maxUpdaters + 3, (at) => ({ apiVersion: `v${at}` }));
    expect(names(capUpdaters(managers))).toEqual(names(managers));
  });

  test("an old entry of joined updaters takes in the oldest even when it is younger", () => {
    const young = manager(ancientChanges, { time: "2025-01-01T00:00:00Z" });
    const managers = capUpdaters([young, ...many(maxUpdaters)]);
    const ancients = managers.filter(({ name }) => name === ancientChanges);
    expect(ancients.map(({ fields }) => printed(fields))).toEqual([[".ancient-changes", ".m01"]]);
    expect(names(managers)).toContain("m00");
  });
});
