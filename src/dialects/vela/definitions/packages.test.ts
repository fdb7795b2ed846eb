import { expect, test } from "vitest";
import type { JsonObject } from "#lib/base/index.ts";
import { collectProblems } from "#kernel/dialect/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { checkPackage } from "../checks/application.ts";
import { definitionsOf, sourcesOfObjects } from "./find.ts";

const object = (
  kind: string,
  name: string,
  namespace: string,
  spec: JsonObject,
  more: JsonObject = {},
): KubeObject => ({
  apiVersion: kind === "Package" ? "cue.oam.dev/v1alpha1" : "core.oam.dev/v1beta1",
  kind,
  metadata: { name, namespace, ...more },
  spec,
});

const pack = (name: string, namespace: string, path: string, templates: JsonObject, more: JsonObject = {}) =>
  object("Package", name, namespace, { path, templates }, more);

const step = (template: string) =>
  object("WorkflowStepDefinition", "tables", "a", { schematic: { cue: { template } } }, {});

const found = async (objects: readonly KubeObject[], namespace = "a") =>
  await definitionsOf(
    sourcesOfObjects(objects, { shipped: () => Promise.resolve([]), systemNamespace: "vela-system" }),
  ).find("workflow-step", "tables", namespace);

const importing = step('import (\n\t"strings"\n\tdb "ext/db/mysql"\n)\nlist: db.#List\n');

test("a template has the packages that it imports, those of its namespace first, and what these import", async () => {
  const one = await found([
    importing,
    pack("system", "vela-system", "ext/db/mysql", { "a.cue": "package mysql\n#List: 1" }),
    pack("own", "a", "ext/db/mysql", { "a.cue": 'package mysql\nimport "ext/types"\n#List: types.#T' }),
    pack("types", "vela-system", "ext/types", { "a.cue": "package types\n#T: 2" }),
    pack("other", "a", "ext/other", { "a.cue": "package other" }),
    pack("foreign", "b", "ext/types", { "a.cue": "package types\n#T: 3" }),
  ]);
  expect(one?.imports).toEqual({
    sources: {
      "ext/db/mysql": 'package mysql\nimport "ext/types"\n#List: types.#T',
      "ext/types": "package types\n#T: 2",
    },
    providers: {},
  });
  expect((await found([importing]))?.imports).toBeUndefined();
});

test("the files of a package are one, with all imports at its head", async () => {
  const files = {
    "b.cue": 'package mysql\n\nimport "strings"\n\n#B: strings.ToUpper("b")',
    "a.cue": 'package mysql\nimport (\n\t"strings"\n\t"list"\n)\n#A: list.Max([1])',
  };
  const text = (await found([importing, pack("own", "a", "ext/db/mysql", files)]))?.imports?.sources["ext/db/mysql"];
  expect(text?.split("\n").filter((line) => line.trim() !== "")).toEqual([
    "package mysql",
    'import "strings"',
    'import "list"',
    "#A: list.Max([1])",
    '#B: strings.ToUpper("b")',
  ]);
});

test("writers of a package count for what its users do", async () => {
  const annotations = { "slipway.dev/acts-for": '[{"user":"eve","groups":[]}]' };
  const mysql = pack("own", "a", "ext/db/mysql", { "a.cue": "package mysql" }, { annotations });
  expect((await found([importing, mysql]))?.writers).toEqual([{ user: "eve", groups: [] }]);
});

test.each(["vela/op", "slipway/git", "vela"])("the path %s belongs to a shipped package", (path) => {
  const problems = collectProblems();
  checkPackage({ spec: { path } }, problems);
  expect(problems.problems.map(({ message }) => message)).toEqual([
    `${path}: paths below vela and slipway belong to shipped packages`,
  ]);
});
