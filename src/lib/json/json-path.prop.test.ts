import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { compileJsonPath, compileJsonPathTemplate, getPointer } from "./index.ts";

const leaf = fc.oneof(fc.constantFrom("a", "b", "1"), fc.integer({ min: -3, max: 3 }), fc.boolean(), fc.constant(null));
const key = fc.constantFrom("a", "b", "a.b", "x/y", "it's", "\\", "[0]", "");
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map((entries): JsonValue => Object.fromEntries(entries)),
  ),
}));

const find = (source: string, document: JsonValue): readonly JsonValue[] => {
  const path = compileJsonPath(source);
  if (!path.ok) throw new Error(`${source}: ${path.error.message}`);
  const found = path.value.find(document);
  if (!found.ok) throw new Error(found.error);
  return found.value;
};

/** All values of a document with their paths, parents first. */
function* walk(node: JsonValue, path: readonly string[] = []): Generator<readonly [readonly string[], JsonValue]> {
  yield [path, node];
  if (typeof node !== "object" || node === null) return;
  for (const [name, child] of Object.entries(node)) if (child !== undefined) yield* walk(child, [...path, name]);
}

test("the path to a value, as names with backslashes and as indexes, selects it alone", () => {
  fc.assert(
    fc.property(value, (document) => {
      for (const [path, node] of walk(document)) {
        if (path.includes("")) continue;
        let parent: JsonValue | undefined = document;
        let source = "$";
        for (const [depth, name] of path.entries()) {
          source += Array.isArray(parent) ? `[${name}]` : `.${name.replace(/[^\w/]/g, "\\$&")}`;
          parent = getPointer(document, path.slice(0, depth + 1));
        }
        expect(find(source, document)).toEqual([node]);
      }
    }),
  );
});

test("descending finds every value once", () => {
  fc.assert(
    fc.property(value, (document) => {
      const all = [...walk(document)];
      expect(find("..*", document).length).toBe(all.length - 1);
      expect(find("..a", document).length).toBe(
        all.filter(([, node]) => typeof node === "object" && node !== null && Object.hasOwn(node, "a")).length,
      );
    }),
  );
});

test("slices select what JavaScript's slices do, every so many", () => {
  const bound = fc.option(fc.integer({ min: -6, max: 6 }), { nil: undefined });
  fc.assert(
    fc.property(
      fc.array(fc.nat(9), { maxLength: 5 }),
      bound,
      bound,
      fc.integer({ min: 1, max: 3 }),
      (list, start, end, stride) => {
        const expected = list.slice(start ?? 0, end ?? list.length).filter((_, at) => at % stride === 0);
        expect(find(`[${start ?? ""}:${end ?? ""}:${stride}]`, list)).toEqual(expected);
      },
    ),
  );
});

test("a filter selects the items for which the comparison holds, and only of one type", () => {
  const operators = {
    "==": (a: number, b: number) => a === b,
    "!=": (a: number, b: number) => a !== b,
    "<": (a: number, b: number) => a < b,
    "<=": (a: number, b: number) => a <= b,
    ">": (a: number, b: number) => a > b,
    ">=": (a: number, b: number) => a >= b,
  } as const;
  const operator = fc.constantFrom<keyof typeof operators>("==", "!=", "<", "<=", ">", ">=");
  fc.assert(
    fc.property(fc.array(leaf), operator, fc.integer({ min: -3, max: 3 }), (list, name, right) => {
      const expected = list.filter((item) => (typeof item === "number" ? operators[name](item, right) : name === "!="));
      expect(find(`[?(@ ${name} ${right})]`, list)).toEqual(expected);
    }),
  );
});

test("a template is its texts and the values of its paths in their order", () => {
  const text = fc.string({ unit: fc.constantFrom("x", " ", "\n", "}", "$", "'") });
  fc.assert(
    fc.property(text, text, fc.array(fc.nat(9), { maxLength: 5 }), (before, after, list) => {
      const template = compileJsonPathTemplate(`${before}{range [*]}<{@}>{end}${after}{[*]}`);
      const expected = `${before}${list.map((item) => `<${item}>`).join("")}${after}${list.join(" ")}`;
      expect(template.ok && template.value.render(list)).toEqual({ ok: true, value: expected });
    }),
  );
});
