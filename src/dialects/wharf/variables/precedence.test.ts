import { expect, test } from "vitest";
import { prepared } from "../testing/prepared.ts";
import { gitVariables } from "./git-variables.ts";
import { processVariables } from "./sources.ts";
import { maskVariables, sourceNames, type Variable } from "./variable.ts";
import { asText } from "../definition/scalar.ts";

const image = "stage: {step: {container: {image: '${BUILD_REF}', cmds: ['${x}']}}}\n";
const input = "inputs: [{name: BUILD_REF, type: string, default: from-default}]\n";
const environment = "environments: {e: {BUILD_REF: from-environment}}\n";

/** One variable of all seven sources. Of an input the value goes with the default, which comes after it. */
function imageWithout(left: number): string | undefined {
  const from = (source: Variable["source"], text: string) => ({ name: "BUILD_REF", ...asText(text), source });
  const has = (source: Variable["source"]) => sourceNames.indexOf(source) >= left;
  const surroundings = [
    ...(has("git") ? [from("git", "from-git")] : []),
    ...(has("variable files") ? [from("variable files", "from-file")] : []),
    ...(has("process environment") ? processVariables({ WHARF_VAR_BUILD_REF: "from-process" }) : []),
  ];
  const text = [
    has("input defaults") ? input : "",
    has("environment") ? environment : "environments: {e: {}}\n",
    image,
  ];
  const { plan } = prepared(text.join(""), {
    surroundings,
    environment: "e",
    ...(has("input values") ? { inputs: new Map([["BUILD_REF", "from-value"]]) } : {}),
    ...(has("build") ? { buildId: 7 } : {}),
  });
  return plan?.stages[0]?.steps[0]?.image;
}

test("a variable of all seven sources is the first one's; without it the next one's", () => {
  expect(sourceNames.map((_, left) => imageWithout(left))).toEqual([
    "from-value",
    "from-default",
    "from-environment",
    "7",
    "from-process",
    "from-file",
    "from-git",
  ]);
  expect(imageWithout(sourceNames.length)).toBe("${BUILD_REF}");
});

test("what is overridden is listed, as such", () => {
  const { listed } = prepared(input + image, { buildId: 1, inputs: new Map([["BUILD_REF", "v"]]) });
  expect(listed.map(({ variable, isOverridden }) => [variable.source, variable.text, isOverridden])).toEqual([
    ["input values", "v", false],
    ["input defaults", "from-default", true],
    ["build", "1", true],
  ]);
});

test("passwords are stars where they are printed, also inside other variables", () => {
  const text = "inputs: [{name: pw, type: password, default: hunter2}]\na: {b: {kubectl: {file: x}}}\n";
  const { variables } = prepared(text, { inputs: new Map([["pw", "s3cret"]]) });
  expect([...maskVariables(variables).values()].map(({ text: value }) => value)).toEqual(["***"]);
  expect(variables.get("pw")?.text).toBe("s3cret");
});

test("a process gives what begins with WHARF_VAR_, as texts", () => {
  expect(processVariables({ WHARF_VAR_A: "1", WHARF_VAR_: "x", OTHER: "y", WHARF_VAR_B: undefined })).toEqual([
    { name: "A", tag: "string", text: "1", value: "1", source: "process environment" },
  ]);
});

test("Git gives what it has", () => {
  const texts = (facts: Parameters<typeof gitVariables>[0]) =>
    Object.fromEntries(gitVariables(facts).map(({ name, text }) => [name, text]));
  expect(texts({ branch: "", tag: "" })).toEqual({
    GIT_BRANCH: "",
    REPO_BRANCH: "",
    GIT_SAFEBRANCH: "",
    GIT_TAG: "",
  });
  const commit = { hash: "abc", shortHash: "a", subject: "s", authorDate: "1", committerDate: "2", count: "3" };
  expect(texts({ branch: "feature/x/y", tag: "v1", url: "git@h:a/b.git", commit })).toEqual({
    GIT_BRANCH: "feature/x/y",
    REPO_BRANCH: "feature/x/y",
    GIT_SAFEBRANCH: "feature-x-y",
    GIT_COMMIT: "abc",
    GIT_COMMIT_SHORT: "a",
    GIT_COMMIT_SUBJECT: "s",
    GIT_COMMIT_AUTHOR_DATE: "1",
    GIT_COMMIT_COMMITTER_DATE: "2",
    GIT_REVISION: "3",
    GIT_TAG: "v1",
    REPO_NAME: "b",
    REPO_GROUP: "a",
  });
});
