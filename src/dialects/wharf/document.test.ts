import { expect, test } from "vitest";
import { formatProblem } from "#lib/base/index.ts";
import { readYaml } from "#lib/yaml/index.ts";
import { documents } from "./document.ts";

/** What is wrong with the only document of a file. */
function problemsOf(text: string): readonly string[] {
  const read = readYaml(text, { file: "b.yaml" });
  const [document] = read.ok ? read.value.documents : [];
  if (document === undefined) throw new Error("expected a document");
  expect(documents.detect(document)).toBe(true);
  return documents.read(document).problems.map(formatProblem);
}

const head = "apiVersion: wharf.slipway.dev/v1alpha1\nmetadata: {name: x}\n";

test("documents of the group are read and checked with places", () => {
  expect(problemsOf(`${head}kind: Build\nspec: {project: web, stage: test}`)).toEqual([]);
  expect(problemsOf(`${head}kind: Build\nspec: {stages: test}`)).toEqual([
    'b.yaml:4:16: error: spec.stages: is not a field of this kind (did you mean "stage"?)',
    "b.yaml:4:7: error: spec.project: expected the name of a Project, whose repository is cloned",
  ]);
  expect(problemsOf(`${head}kind: Biuld`)).toEqual([
    'b.yaml:3:7: error: kind: expected Project, Build or Worker, found "Biuld" (did you mean "Build"?)',
  ]);
  expect(problemsOf(`apiVersion: wharf.slipway.dev/v2\nkind: Build`)).toEqual([
    'b.yaml:1:13: error: apiVersion: expected wharf.slipway.dev/v1alpha1, found "wharf.slipway.dev/v2"',
  ]);
});

const read = (text: string, file: string) => {
  const document = documents.fromText?.(text, file);
  return document === undefined ? undefined : documents.read(document);
};

test("a file of the usual name is a definition, any other is not", () => {
  const text = "build:\n  web:\n    container: {image: alpine, cmds: [make]}\n";
  expect(read(text, "a/b.yml")).toBeUndefined();
  expect(read(text, "repo/.wharf-ci.yml")).toMatchObject({ problems: [], object: { spec: { definition: text } } });
});

test("what is wrong with a definition is told at its line, but for variables that others may have", () => {
  const text = "build:\n  web:\n    docker: {file: Dockerfile, tag: latest}\n  api:\n    container: {image: 1.10}\n";
  const found = read(text, ".wharf-ci.yml");
  expect(found?.object).toBeUndefined();
  expect(found?.problems.map(({ position, code, path }) => [position?.line, code, path])).toEqual([
    [5, "field-required", "build/api/container/cmds"],
    [5, "type", "build/api/container/image"],
  ]);
});
