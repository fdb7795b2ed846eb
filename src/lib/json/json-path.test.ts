import { expect, test } from "vitest";
import type { JsonValue } from "#lib/base/index.ts";
import { compileJsonPath, compileJsonPathTemplate } from "./index.ts";

const pods: JsonValue = {
  kind: "List",
  items: [
    {
      metadata: { name: "one", labels: { "app.kubernetes.io/name": "web" } },
      status: {
        capacity: { cpu: "4" },
        conditions: [
          { type: "Ready", status: "True" },
          { type: "Init", status: "False" },
        ],
      },
      ports: [80, 443, 8080],
    },
    { metadata: { name: "two" }, status: { capacity: { cpu: "8" }, conditions: [] }, ports: [22] },
  ],
};

const find = (source: string, root: JsonValue = pods): JsonValue => {
  const path = compileJsonPath(source);
  if (!path.ok) throw new Error(`${path.error.message} at ${path.error.column}`);
  const found = path.value.find(root);
  if (!found.ok) throw new Error(found.error);
  return found.value;
};

test.each<readonly [string, JsonValue]>([
  [".kind", ["List"]],
  ["$.kind", ["List"]],
  ["{.kind}", ["List"]],
  [".items[0].metadata.name", ["one"]],
  [".items[-1].metadata.name", ["two"]],
  [".items[*].metadata.name", ["one", "two"]],
  [".items[*].metadata['name']", ["one", "two"]],
  [".items[0].metadata.labels.app\\.kubernetes\\.io/name", ["web"]],
  [".items[0].metadata.labels['app.kubernetes.io/name']", ["web"]],
  [".items[0].metadata.labels['app\\.kubernetes\\.io/name']", ["web"]],
  [".items[*]['metadata.name', 'status.capacity']", ["one", { cpu: "4" }, "two", { cpu: "8" }]],
  ['.items[0].status.conditions[?(@.type=="Ready")].status', ["True"]],
  [".items[0].status.conditions[?( @.type != 'Ready' )].status", ["False"]],
  [".items[?(@.ports[0] > 50)].metadata.name", ["one"]],
  [".items[?(@.ports[0] <= 22)].metadata.name", ["two"]],
  [".items[?(@.metadata.labels)].metadata.name", ["one"]],
  [".items[?(@.missing==1)]", []],
  [".items[?(@.metadata.name>1)]", []],
  [".items[0].ports[0:2]", [80, 443]],
  [".items[0].ports[1:]", [443, 8080]],
  [".items[0].ports[::2]", [80, 8080]],
  [".items[0].ports[-2:]", [443, 8080]],
  [".items[0].ports[0,2]", [80, 8080]],
  ["..cpu", ["4", "8"]],
  [".items[*].ports[*]", [80, 443, 8080, 22]],
  [".items[0].status.capacity.*", ["4"]],
  [".nothing.at.all[3]", []],
  [".items.metadata", []],
  [".kind.length", []],
  [".toString", []],
  ["$", [pods]],
  ["@", [pods]],
  [".", [pods]],
])("the path %s", (source, expected) => {
  expect(find(source)).toEqual(expected);
});

test.each([
  ["a.b", 1],
  [".a[", 4],
  [".a[]", 4],
  [".a[0", 5],
  [".a['b]", 4],
  [".a[?(@.x=)]", 9],
  [".a[?@.x]", 5],
  [".a[?(1)]", 7],
  [".a[::0]", 4],
  [".a b", 4],
  ["{.a", 4],
  [".a..", 5],
  [".a[?(@.x == 1 && @.y == 2)]", 15],
])("%s does not compile", (source, column) => {
  expect(compileJsonPath(source)).toMatchObject({ ok: false, error: { column } });
});

test("a path that is too long does not compile", () => {
  expect(compileJsonPath(".a[?(@".repeat(10_000)).ok).toBe(false);
});

test("deeply nested filters overflow nothing", () => {
  expect(compileJsonPath("[?(@".repeat(1_000)).ok).toBe(false);
});

test("a path that would look at too much gives up", () => {
  const wide: JsonValue = Array.from({ length: 100 }, () =>
    Array.from({ length: 100 }, () => Array.from({ length: 100 }, () => 0)),
  );
  const path = compileJsonPath("..[*]..[*]");
  expect(path.ok && path.value.find(wide).ok).toBe(false);
});

const render = (source: string, root: JsonValue = pods): string => {
  const template = compileJsonPathTemplate(source);
  if (!template.ok) throw new Error(`${template.error.message} at ${template.error.column}`);
  const text = template.value.render(root);
  if (!text.ok) throw new Error(text.error);
  return text.value;
};

test.each([
  ["{.items[*].metadata.name}", "one two"],
  ['{.items[*].metadata.name}{"\\n"}', "one two\n"],
  ["names: {.items[*].metadata.name}.", "names: one two."],
  ['{range .items[*]}{.metadata.name}{"\\t"}{.status.capacity.cpu}{"\\n"}{end}', "one\t4\ntwo\t8\n"],
  ["{range .items[*]}{range .ports[*]}{@},{end};{end}", "80,443,8080,;22,;"],
  ["{range .items[*]}{$.kind} {end}", "List List "],
  ["{.items[0].status.capacity}", '{"cpu":"4"}'],
  ["{.items[1].ports}", "[22]"],
  ["{ .kind }{'-'}{ 'it\\'s' }", "List-it's"],
  ["{.missing}", ""],
  ["no path at all", "no path at all"],
])("the template %s", (source, expected) => {
  expect(render(source)).toBe(expected);
});

test.each([
  ["{range .items[*]}{.a}", 1],
  ["x{end}", 2],
  ["{.a", 4],
  ["{a}", 2],
  ["{.a .b}", 5],
  ["{'a}", 2],
])("the template %s does not compile", (source, column) => {
  expect(compileJsonPathTemplate(source)).toMatchObject({ ok: false, error: { column } });
});

test("a template that prints its document too often gives up", () => {
  const root: JsonValue = { text: "x".repeat(100_000), list: Array.from({ length: 20_000 }, () => 1) };
  const template = compileJsonPathTemplate("{range .list[*]}{$}{end}");
  expect(template.ok && template.value.render(root).ok).toBe(false);
});
