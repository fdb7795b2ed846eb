import { describe, expect, test } from "vitest";
import type { Collection } from "../objects.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { findObject, listOf, slimmed } from "./filter.ts";
import { describeIndexes } from "./indexes.ts";

const uuid = (n: number): string => `00000000-0000-4000-8000-00000000000${n}`;
const world = new MemoryWorld({
  params: [
    { Name: "color", Schema: { type: "string", default: "grey" } },
    { Name: "size", Schema: { type: "integer" } },
  ],
  profiles: [{ Name: "big", Params: { size: 10 } }],
  machines: [
    { Uuid: uuid(3), Name: "aa", Address: "10.0.0.9", Runnable: true, Params: { color: "red" }, Meta: { rack: "r1" } },
    { Uuid: uuid(2), Name: "bb", Address: "10.0.0.10", Profiles: ["big"], Meta: { rack: "r2" } },
    { Uuid: uuid(1), Name: "cc", Runnable: true, Params: { size: 3 } },
  ],
  jobs: [
    { Uuid: uuid(4), StartTime: "2026-01-01T00:00:00Z", State: "finished" },
    { Uuid: uuid(5), StartTime: "2026-01-01T01:30:00+01:00", State: "failed" },
  ],
});

const list = (query: string, collection: Collection = "machines") =>
  listOf(world, collection, new URLSearchParams(query));
const names = (query: string): string => {
  const found = listOf(world, "machines", new URLSearchParams(query));
  return found.ok ? found.value.objects.map((machine) => machine.Name).join(" ") : found.error.Messages.join();
};

test("without a filter: all, by key, with their numbers", () => {
  expect(names("")).toBe("cc bb aa");
  expect(list("limit=1&offset=1&Runnable=true")).toMatchObject({
    ok: true,
    value: { total: 3, filtered: 2, objects: [{ Name: "aa" }] },
  });
  expect(list("limit=0")).toMatchObject({ value: { objects: [], filtered: 3 } });
});

test.each([
  ["Name=bb", "bb"],
  ["Name=Eq(bb)", "bb"],
  ["Name=aa&Name=bb", "bb aa"],
  ["Name=aa&Runnable=false", ""],
  ["Name=Ne(aa)", "cc bb"],
  ["Name=Lt(bb)", "aa"],
  ["Name=Lte(bb)", "bb aa"],
  ["Name=Gt(bb)", "cc"],
  ["Name=Gte(bb)", "cc bb"],
  ["Name=Re(^[ab])", "bb aa"],
  ["Name=Between(aa,bb)", "bb aa"],
  ["Name=Except(aa,bb)", "cc"],
  ["Name=In(aa,cc)", "cc aa"],
  ["Name=Nin(aa,cc)", "bb"],
  [`Uuid=${uuid(1)}`, "cc"],
  [`Key=${uuid(1)}`, "cc"],
  ["Runnable=t", "cc aa"],
  ["Profiles=big", "bb"],
  ["Params=size", "cc"],
  ["Address=Lt(10.0.0.10)", "cc aa"],
  ["color=grey", "cc bb"],
  ["size=Eq(10)", "bb"],
  ["Meta.rack=r1", "aa"],
  ["sort=Name", "aa bb cc"],
  ["sort=Name&reverse=true", "cc bb aa"],
  ["sort=Runnable&sort=Name", "bb aa cc"],
  ["sort=Address", "cc aa bb"],
])("%s", (query, expected) => {
  expect(names(query)).toBe(expected);
});

test("times compare as instants", () => {
  expect(list("StartTime=Gt(2026-01-01T00:10:00Z)", "jobs")).toMatchObject({
    value: { objects: [{ State: "failed" }] },
  });
});

describe("14 list with unknown filter / unsortable sort / limit=-1", () => {
  test.each([
    ["Nonsense=1", "Filter not found: Nonsense"],
    ["toString=1", "Filter not found: toString"],
    ["sort=Profiles", "Not sortable: Profiles"],
    ["sort=Nonsense", "Not sortable: Nonsense"],
    ["limit=-1", "Limit cannot be negative"],
    ["offset=-1", "Offset cannot be negative"],
    ["limit=x", 'limit: expected a number, found "x"'],
    ["Uuid=x", 'Uuid: expected a UUID, found "x"'],
    ["Runnable=maybe", 'Runnable: expected true or false, found "maybe"'],
    ["Address=x", 'Address: expected an IPv4 address, found "x"'],
    ["Name=Between(a)", "Name: Between takes two values, found 1"],
  ])("%s", (query, message) => {
    expect(list(query)).toMatchObject({ error: { Code: 406, Messages: [message] } });
  });

  test("Name=Re(() and patterns that would take long", () => {
    expect(list("Name=Re(()")).toMatchObject({ error: { Code: 406 } });
    expect(list("Name=Re((((a{1,99}){1,99}){1,99}))")).toMatchObject({ error: { Code: 406 } });
  });
});

test("what a caller may not see is not counted", () => {
  const seen = listOf(world, "machines", new URLSearchParams(), (machine) => machine.Uuid === uuid(2));
  expect(seen).toMatchObject({ value: { total: 1, filtered: 1, objects: [{ Name: "bb" }] } });
});

test("slim replies say that they are", () => {
  const [object] = world.all("profiles");
  if (object === undefined) return expect.fail();
  const slim = (query: string) => slimmed(object, new URLSearchParams(query));
  expect(slim("")).toBe(object);
  expect(slim("slim=Params,Meta")).toMatchObject({ Partial: true, Params: {}, Meta: {} });
  expect(slim("params=size,other")).toMatchObject({ Partial: true, Params: { size: 10 } });
});

test("objects are found by keys and unique indexes", () => {
  const find = (key: string) => findObject(world, "machines", key)?.Name;
  expect([uuid(1), `Uuid:${uuid(1)}`, `Key:${uuid(1)}`, "Name:cc", "Address:10.0.0.9"].map(find)).toEqual([
    "cc",
    "cc",
    "cc",
    "cc",
    "aa",
  ]);
  expect(["Stage:", "Name:", "Address:", "Nonsense:x", "Uuid:x", "x"].map(find)).toEqual(Array(6).fill(undefined));
});

test("indexes are described", () => {
  expect(describeIndexes("machines")).toMatchObject({
    Key: { Type: "UUID string", Unique: true, Unordered: false, Regex: true },
    Name: { Type: "string", Unique: true, Unordered: false, Regex: true },
    Profiles: { Unique: false, Unordered: true, Regex: false },
    Valid: { Type: "boolean" },
  });
});
