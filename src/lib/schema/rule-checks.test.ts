import { describe, expect, test } from "vitest";
import { err, type JsonValue, ok } from "#lib/base/index.ts";
import { type CompileRule, compileSchema, type Schema } from "./index.ts";
import { parseRulePath } from "./rule-path.ts";
import type { ValidationRule } from "./schema.ts";

const object = (properties: Readonly<Record<string, Schema>>): Schema => ({ type: "object", properties });
const text: Schema = { type: "string" };
const int: Schema = { type: "integer" };

describe("rules", () => {
  const asked: string[] = [];
  /** Every rule says no, and is asked as its text says: `oldSelf`, `optional`; `odd` has no program. */
  const compileRule: CompileRule = ({ rule, message }) =>
    rule === "odd"
      ? err({ kind: "unsupported", message: "cannot be evaluated" })
      : ok({
          usesOldSelf: /oldSelf|optional/.test(rule),
          runsWithoutOldSelf: rule.includes("optional"),
          evaluate: (_self, _old, budget) => {
            asked.push(rule);
            budget.left -= rule.includes("dear") ? 6_000_000 : 1;
            const kind = rule.startsWith("fails") ? "failed" : rule.startsWith("costs") ? "cost" : "refused";
            return err({ kind, message: message ?? `failed rule: ${rule}` });
          },
        });
  const ruled = (node: Schema, ...rules: readonly ValidationRule[]): Schema => ({
    ...node,
    "x-kubernetes-validations": rules,
  });
  const run = (schema: Schema, value: JsonValue, old?: JsonValue) => {
    asked.length = 0;
    const errors = compileSchema(schema, { compileRule }).validate(value, old === undefined ? {} : { old });
    return { asked: [...asked], errors: errors.map(({ field, message }) => `${field}: ${message}`) };
  };

  test("are asked through the compiler that is given, transition rules only on updates", () => {
    const schema = ruled(
      object({ x: int }),
      { rule: "a" },
      { rule: "b oldSelf" },
      { rule: "odd" },
      { rule: "c optional" },
    );
    expect(run(schema, { x: 1 }).asked).toEqual(["a", "c optional"]);
    expect(run(schema, { x: 1 }, { x: 2 }).asked).toEqual(["a", "b oldSelf", "c optional"]);
  });

  test.each<[Partial<ValidationRule>, string]>([
    [{}, ': Invalid value: "object": failed rule: a'],
    [{ message: "no" }, ': Invalid value: "object": no'],
    [{ message: "no", fieldPath: ".x" }, 'x: Invalid value: "object": no'],
    [{ message: "no", fieldPath: ".y['a.b']" }, 'y[a.b]: Invalid value: "object": no'],
    [{ message: "no", reason: "FieldValueForbidden" }, ": Forbidden: no"],
    [{ message: "no", reason: "FieldValueRequired", fieldPath: ".x" }, "x: Required value: no"],
    [{ message: "no", reason: "FieldValueDuplicate" }, ': Duplicate value: "object"'],
    [
      { rule: "fails", reason: "FieldValueForbidden", fieldPath: ".x" },
      ': Invalid value: "object": failed rule: fails',
    ],
  ])("with %j say %s", (rule, text) => {
    expect(run(ruled(object({ x: int }), { rule: "a", ...rule }), {}).errors).toEqual([text]);
  });

  test("of scalars show the type, not the value", () => {
    expect(run(object({ t: ruled(text, { rule: "a" }) }), { t: "secret" }).errors).toEqual([
      't: Invalid value: "string": failed rule: a',
    ]);
  });

  test("are asked of whatever has the right shape, also when its values are wrong", () => {
    const schema = ruled(object({ x: { ...int, minimum: 5 }, t: text }), { rule: "a" });
    expect(run(schema, { x: 1 }).asked).toEqual(["a"]);
    const notAsked = run(schema, { x: 7, t: 1 });
    expect(notAsked.asked).toEqual([]);
    expect(notAsked.errors[1]).toMatch(/^<nil>: Invalid value: "null": some validation rules were not checked/);
    expect(run(object({ t: text }), { t: 1 }).errors).toHaveLength(1);
  });

  test("about a change are asked of what did not change, others are not", () => {
    const rules = [{ rule: "a" }, { rule: "b oldSelf" }];
    const schema = object({ same: ruled(text, ...rules), other: ruled(text, ...rules), rest: text });
    const old = { same: "s", other: "o", rest: "1" };
    expect(run(schema, { ...old, other: "p" }, old).asked).toEqual(["b oldSelf", "a", "b oldSelf"]);
    expect(run(schema, old, old).asked).toEqual(["b oldSelf", "b oldSelf"]);
  });

  test("find the former self of members and of keyed items, not of items of other lists", () => {
    const item = ruled(object({ k: text, v: text }), { rule: "oldSelf" }, { rule: "a" });
    const list = (more: object): Schema => ({ type: "array", items: item, ...more });
    const keyed = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] } as const;
    const old = [
      { k: "a", v: "1" },
      { k: "b", v: "1" },
    ];
    const next = [{ k: "b", v: "1" }, { k: "a", v: "2" }, { k: "c" }];
    expect(run(list(keyed), next, old).asked).toEqual(["oldSelf", "oldSelf", "a", "a"]);
    expect(run(list({}), next, old).asked).toEqual(["a", "a", "a"]);
    expect(run(list({}), old, old).asked).toEqual([]);
    const map: Schema = { type: "object", additionalProperties: ruled(text, { rule: "oldSelf" }) };
    expect(run(map, { a: "1", b: "2" }, { a: "0" }).asked).toEqual(["oldSelf"]);
    expect(run({ ...map, "x-kubernetes-map-type": "atomic" }, { a: "1" }, { a: "0" }).asked).toEqual(["oldSelf"]);
  });

  test("end when one costs too much, or all of them together", () => {
    expect(run(ruled(object({}), { rule: "costs" }, { rule: "a" }), {}).asked).toEqual(["costs"]);
    const items = { type: "array", items: ruled(int, { rule: "dear" }) } as const;
    const { asked: rounds, errors } = run(items, [1, 2, 3, 4]);
    expect(rounds).toEqual(["dear", "dear"]);
    expect(errors[1]).toMatch(/^\[1\]: Invalid value: "integer": validation failed due to running out of cost budget/);
  });

  test("are not asked of null", () => {
    expect(run(object({ t: ruled({ ...text, nullable: true }, { rule: "a" }) }), { t: null }).asked).toEqual([]);
  });
});

test.each<[string, readonly string[] | undefined]>([
  [".a", ["a"]],
  [".a.b-c", ["a", "b-c"]],
  [".a['b.c'].d", ["a", "b.c", "d"]],
  ["['it\\'s']", ["it's"]],
  ["", []],
  ["a", undefined],
  [".a.", undefined],
  [".a[0]", undefined],
  [".a['b]", undefined],
])("the path %s of a rule names %j", (path, names) => {
  expect(parseRulePath(path)).toEqual(names);
});
