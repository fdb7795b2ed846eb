import fc from "fast-check";
import { expect, test } from "vitest";
import { deepFreeze, isJsonObject, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { runs } from "#test/support/property-runs.ts";
import { compare, isSame } from "./compare.ts";
import { difference, type FieldSet, intersection, isEmptySet, pathsOf, union } from "./field-set.ts";
import { fieldSetOf, fieldsOfNew } from "./field-set-of.ts";
import { decodeFields, encodeManagers } from "./managers.ts";
import { merge } from "./merge.ts";
import { objectWith, printed, testType, World } from "./testing/world.ts";
import { builtInTypeNode } from "./type-node.ts";

const word = fc.constantFrom("a", "b", "c");
const text = fc.constantFrom("1", "2");
const struct = fc.record({ x: text, y: text }, { requiredKeys: [] });
const keyed = fc.uniqueArray(
  fc.record(
    {
      name: word,
      value: text,
      struct,
      inner: fc.uniqueArray(fc.record({ id: fc.nat(2) }), { selector: ({ id }) => id, minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: ["name"] },
  ),
  { selector: ({ name }) => name, minLength: 1, maxLength: 3 },
);
const names = fc.constantFrom("k", "__proto__", "constructor");
/** Documents as people write them: no null, no empty keyed list, which declare nothing. */
const spec = fc.record(
  {
    a: text,
    struct,
    map: fc.dictionary(names, text, { maxKeys: 2 }),
    structs: fc.dictionary(names, struct, { maxKeys: 2 }),
    atomicMap: fc.dictionary(names, text, { maxKeys: 2 }),
    keyed,
    set: fc.uniqueArray(word, { minLength: 1, maxLength: 3 }),
    list: fc.array(fc.record({ name: word }), { maxLength: 2 }),
    any: fc.dictionary(names, fc.oneof(text, struct, fc.array(text, { maxLength: 2 })), { maxKeys: 2 }),
  },
  { requiredKeys: [], noNullPrototype: true },
);
const document: fc.Arbitrary<JsonObject> = spec.map((value) =>
  objectWith(JSON.parse(JSON.stringify(value)) as JsonObject),
);
const manager = fc.constantFrom("A", "B", "C");
const step = fc.record({ manager, document, how: fc.constantFrom("apply", "force", "update") });

const run = (
  steps: readonly { readonly manager: string; readonly document: JsonObject; readonly how: string }[],
): World => {
  const world = new World();
  for (const { manager: name, document: next, how } of steps) {
    if (how === "update") world.update(name, next);
    else world.apply(name, next, how === "force");
  }
  return world;
};

const often = { numRuns: runs(60) };

test("the merged object holds all that was applied", () => {
  fc.assert(
    fc.property(document, document, (live, applied) => {
      const held = fieldsOfNew(merge(live, applied, testType), testType);
      expect(printed(difference(fieldSetOf(applied, testType), held))).toEqual([]);
    }),
    often,
  );
});

test("a merge changes what was applied and leaves the rest", () => {
  fc.assert(
    fc.property(document, document, (live, applied) => {
      const { removed, modified } = compare(live, merge(live, applied, testType), testType);
      const touched = union(fieldSetOf(applied, testType), compare({}, applied, testType).added);
      expect(printed(difference(modified, touched))).toEqual([]);
      // Only inside of what became a value of another shape.
      expect(pathsOf(removed).every((path) => path[1] === "f:any")).toBe(true);
    }),
    often,
  );
});

test("merging twice is merging once, and shares everything", () => {
  fc.assert(
    fc.property(document, document, (live, applied) => {
      const once = merge(live, applied, testType);
      expect(merge(once, applied, testType)).toBe(once);
    }),
    often,
  );
});

test("neither merging nor comparing changes what it is given", () => {
  fc.assert(
    fc.property(document, document, (live, applied) => {
      deepFreeze(live);
      deepFreeze(applied);
      compare(live, merge(live, applied, testType), testType);
    }),
    often,
  );
});

test("an object does not differ from its copy", () => {
  fc.assert(
    fc.property(document, (object) => {
      expect(isSame(compare(object, structuredClone(object), testType))).toBe(true);
    }),
    often,
  );
});

test("what is new is what a comparison with nothing finds", () => {
  const job = builtInTypeNode("io.k8s.api.batch.v1.Job");
  const jobs = fc.record({
    metadata: fc.record({ labels: fc.dictionary(names, text), annotations: fc.constant({}) }, { requiredKeys: [] }),
    spec: fc.record(
      {
        parallelism: fc.nat(3),
        template: fc.record({ metadata: fc.constant({}), spec: fc.record({ containers: keyed }) }),
      },
      { requiredKeys: [] },
    ),
  });
  fc.assert(
    fc.property(document, jobs, (object, other) => {
      expect(fieldsOfNew(object, testType)).toEqual(compare({}, object, testType).added);
      const plain = JSON.parse(JSON.stringify(other)) as JsonObject;
      expect(fieldsOfNew(plain, job)).toEqual(compare({}, plain, job).added);
    }),
    often,
  );
});

test("a comparison the other way round swaps what came and what went", () => {
  fc.assert(
    fc.property(document, document, (a, b) => {
      const there = compare(a, b, testType);
      const back = compare(b, a, testType);
      expect(printed(there.added)).toEqual(printed(back.removed));
      expect(printed(there.modified)).toEqual(printed(back.modified));
    }),
    often,
  );
});

test("a comparison finds nothing only between equal objects, but for the order of items", () => {
  fc.assert(
    fc.property(document, document, (a, b) => {
      if (isSame(compare(a, b, testType))) expect(jsonEquals(inOrder(a), inOrder(b))).toBe(true);
    }),
    often,
  );
});

function inOrder(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inOrder).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inOrder(member ?? null)]))
    : value;
}

test("applying the same document again changes nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 5 }), manager, document, (steps, name, applied) => {
      const world = run(steps).apply(name, applied, true);
      const { live, managers } = world;
      world.apply(name, applied);
      expect(world.conflictTexts).toEqual([]);
      expect(world.live).toBe(live);
      expect(world.managers).toBe(managers);
    }),
    often,
  );
});

test("applying and giving up leaves what was there, without what was the applier's alone", () => {
  fc.assert(
    fc.property(document, document, (before, applied) => {
      const world = new World().update("U", before).apply("A", applied, true);
      const theirs = fieldSetOf(applied, testType);
      world.apply("A", { ...applied, spec: {} }, true);
      const left = fieldSetOf(world.live ?? {}, testType);
      const owned = world.managers
        .filter(({ name }) => name !== "A")
        .reduce<FieldSet>((all, { fields }) => union(all, fields), {});
      const orphans = pathsOf(difference(intersection(left, theirs), owned)).filter(
        (path) => path[0] === "f:spec" && path.length > 1,
      );
      // Items that stay for others keep their keys, and what others own stays with what holds it.
      expect(orphans.filter((path) => !path.some((element) => element.startsWith("k:")))).toEqual([]);
    }),
    often,
  );
});

test("an applier owns what it declares, and every owner owns something", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), manager, document, (steps, name, applied) => {
      const world = run(steps).apply(name, applied, true);
      const own = world.managers.find((candidate) => candidate.name === name && candidate.operation === "Apply");
      const declared = printed(fieldSetOf(applied, testType)).filter((path) => path.startsWith(".spec"));
      expect(printed(own?.fields ?? {})).toEqual(declared);
      expect(world.managers.some(({ fields }) => isEmptySet(fields))).toBe(false);
    }),
    often,
  );
});

test("an apply without conflicts leaves what the others own as it was", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), document, (steps, applied) => {
      const world = run(steps);
      const before = world.live ?? {};
      const others = world.managers
        .filter(({ name }) => name !== "D")
        .reduce<FieldSet>((all, { fields }) => union(all, fields), {});
      world.apply("D", applied);
      const { modified, removed } = compare(before, world.live ?? {}, testType);
      expect(printed(intersection(union(modified, removed), others))).toEqual([]);
    }),
    often,
  );
});

test("sets survive being written and read, and operations keep them in order", () => {
  fc.assert(
    fc.property(document, document, (a, b) => {
      const [x, y] = [fieldSetOf(a, testType), fieldSetOf(b, testType)];
      for (const set of [x, union(x, y), difference(x, y), intersection(x, y), compare(a, b, testType).added]) {
        const read = JSON.parse(JSON.stringify(set)) as JsonObject;
        expect(decodeFields(read)).toBe(read);
      }
    }),
    often,
  );
});

test("the laws of sets", () => {
  fc.assert(
    fc.property(document, document, (a, b) => {
      const [x, y] = [fieldSetOf(a, testType), fieldSetOf(b, testType)];
      expect(union(x, y)).toEqual(union(y, x));
      expect(intersection(x, y)).toEqual(intersection(y, x));
      expect(union(difference(x, y), intersection(x, y))).toEqual(x);
      expect(intersection(difference(x, y), y)).toEqual({});
    }),
    often,
  );
});

test("entries survive being written and read", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      const written = encodeManagers(run(steps).managers);
      expect(JSON.parse(JSON.stringify(written ?? null))).toEqual(written ?? null);
    }),
    often,
  );
});

test("the cost of an apply grows with the object, not with its square", () => {
  // Counted by the items looked at: a property read for every key, through a Proxy.
  const reads = (size: number): number => {
    let count = 0;
    const items = Array.from(
      { length: size },
      (_, at) =>
        new Proxy(
          { name: `n${at}`, value: "1" },
          { getOwnPropertyDescriptor: (target, name) => (count++, Reflect.getOwnPropertyDescriptor(target, name)) },
        ),
    );
    const world = new World().apply("A", objectWith({ keyed: items }));
    world.apply("B", objectWith({ keyed: items.map(({ name }) => ({ name })) }));
    return count;
  };
  const [small, large] = [reads(50), reads(400)];
  expect(large).toBeLessThan(small * 9);
});
