import fc from "fast-check";
import { expect, test } from "vitest";
import type { Stored } from "#kernel/model/index.ts";
import { RecentMap } from "../controller/recent-map.ts";
import { IndexedStore } from "./indexed-store.ts";
import { OwnWrites } from "./own-writes.ts";

const object = (name: string, resourceVersion: number, labels: readonly string[] = [], more: object = {}): Stored => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name,
    uid: name,
    resourceVersion: String(resourceVersion),
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: Object.fromEntries(labels.map((label) => [label, ""])),
    ...more,
  },
});
const labelsOf = ({ metadata }: Stored) => Object.keys(metadata.labels ?? {});
const name = fc.constantFrom("a", "b", "c", "d");

test("an index finds what looking at every object finds, whenever it was added", () => {
  const change = fc.record({ name, labels: fc.uniqueArray(fc.constantFrom("x", "y", "z")), isDeleted: fc.boolean() });
  fc.assert(
    fc.property(fc.array(change), fc.nat(10), (changes, addedAt) => {
      const store = new IndexedStore();
      store.addIndex("early", labelsOf);
      for (const [index, { name, labels, isDeleted }] of changes.entries()) {
        if (index === addedAt) store.addIndex("late", labelsOf);
        if (isDeleted) store.delete(name);
        else store.set(name, object(name, index, labels));
      }
      store.addIndex("late", labelsOf);
      for (const label of ["x", "y", "z"]) {
        const expected = [...store.entries()]
          .filter(([, found]) => labelsOf(found).includes(label))
          .map(([key]) => key);
        expect([...store.keysByIndex("early", label)].sort()).toEqual(expected.sort());
        expect([...store.keysByIndex("late", label)].sort()).toEqual(expected.sort());
      }
      expect([...store.keys()]).toHaveLength(store.size);
    }),
  );
});

test("set and delete answer with what was there", () => {
  const store = new IndexedStore();
  const [first, second] = [object("a", 1), object("a", 2)];
  expect(store.set("a", first)).toBeUndefined();
  expect(store.set("a", second)).toBe(first);
  expect(store.get("a")).toBe(second);
  expect(store.delete("a")).toBe(second);
  expect(store.delete("a")).toBeUndefined();
});

test("an index of the same name with another function is a mistake that is told", () => {
  const store = new IndexedStore();
  store.addIndex("labels", labelsOf);
  store.addIndex("labels", labelsOf);
  expect(() => store.addIndex("labels", () => [])).toThrow('the index "labels" exists already');
});

test("an own write is read until the stream of events has come to it, and never a moment longer", () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant("note" as const), name, revision: fc.integer({ min: 1, max: 50 }) }),
    fc.record({ kind: fc.constant("seen" as const), step: fc.integer({ min: 0, max: 10 }) }),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 40 }), (events) => {
      const own = new OwnWrites();
      const newest = new Map<string, number>();
      let seen = 0;
      for (const each of events) {
        if (each.kind === "note") {
          own.note(each.name, object(each.name, each.revision), String(seen));
          if (each.revision > seen) newest.set(each.name, Math.max(each.revision, newest.get(each.name) ?? 0));
        } else {
          seen += each.step;
          own.settle(String(seen));
        }
        const expected = [...newest].filter(([, revision]) => revision > seen).map(([key]) => key);
        expect([...own.all(String(seen))].map(({ metadata }) => metadata.name).sort()).toEqual(expected.sort());
        for (const [key, revision] of newest)
          expect(own.get(key, String(seen))?.metadata.resourceVersion).toBe(
            revision > seen ? String(revision) : undefined,
          );
      }
    }),
  );
});

test("the write that lets a terminating object go is not read as an object", () => {
  const own = new OwnWrites();
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  own.note("a", object("a", 5, [], { deletionTimestamp }), "1");
  own.note("b", object("b", 6, [], { deletionTimestamp, finalizers: ["slipway.dev/x"] }), "1");
  own.note("c", object("c", 7, [], { deletionTimestamp, deletionGracePeriodSeconds: 30 }), "1");
  expect([...own.all("1")].map(({ metadata }) => metadata.name)).toEqual(["b", "c"]);
  own.clear();
  expect(own.isEmpty).toBe(true);
});

test("own writes that nobody confirms are bounded", () => {
  const own = new OwnWrites();
  for (let revision = 1; revision <= 10_100; revision++)
    own.note(`o${revision}`, object(`o${revision}`, revision), "0");
  expect([...own.all("0")]).toHaveLength(10_000);
  expect(own.has("o100", "0")).toBe(false);
  expect(own.has("o101", "0")).toBe(true);
});

test("a recent map keeps what was used last, and as many as it may", () => {
  const map = new RecentMap<number>(3);
  for (const [key, value] of [
    ["a", 1],
    ["b", 2],
    ["c", 3],
  ] as const)
    map.set(key, value);
  expect(map.get("a")).toBe(1);
  map.set("d", 4);
  expect(["a", "b", "c", "d"].map((key) => map.get(key))).toEqual([1, undefined, 3, 4]);
  map.set("c", 5);
  expect(map.size).toBe(3);
  expect(map.get("c")).toBe(5);
});

test("an index with an order gives the same in that order, and costs nothing once it is empty", () => {
  const store = new IndexedStore();
  store.addIndex("labels", labelsOf, ({ metadata: a }, { metadata: b }) =>
    a.name < b.name ? 1 : a.name === b.name ? 0 : -1,
  );
  for (const [index, name] of ["a", "c", "b"].entries()) store.set(name, object(name, index, ["x"]));
  expect([...store.keysByIndex("labels", "x")]).toEqual(["c", "b", "a"]);
  store.set("c", object("c", 4, ["y"]));
  store.delete("a");
  expect([...store.keysByIndex("labels", "x")]).toEqual(["b"]);
  expect([...store.keysByIndex("labels", "y")]).toEqual(["c"]);
});
