import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { newDirectory } from "../repository/testing/projects.ts";
import { prepared } from "../testing/prepared.ts";
import { findFormerBuild, noteSelection, type Selection, withoutDone } from "./former-build.ts";

let root: string;
beforeEach(async () => {
  root = await newDirectory();
});
afterEach(() => rm(root, { recursive: true }));

const selection: Selection = {
  project: "/p",
  stages: ["a"],
  inputs: { x: "1" },
  passwords: ["pw"],
  done: [["a", "before"]],
};

/** Results of a build with one step that has succeeded and one that has not. */
async function build(name: string, more: object = {}, noted: Selection | null = selection): Promise<string> {
  const directory = join(root, "build", name);
  await mkdir(directory, { recursive: true });
  const steps = ["good", "bad"].map((step, at) => ({
    stepId: at + 1,
    stageId: 1,
    name: step,
    status: step === "good" ? "Success" : "Failed",
  }));
  const document = {
    version: 1,
    buildId: Number.parseInt(name, 10),
    frozen: true,
    stages: [{ stageId: 1, name: "a" }],
    steps,
    ...more,
  };
  await writeFile(join(directory, "build.json"), JSON.stringify(document));
  if (noted !== null) await noteSelection(directory, noted);
  return directory;
}
const find = (wanted: string, project = "/p") => findFormerBuild(wanted, { root, project });

test("a former build is found by its number, by its directory, or as the last one of its project", async () => {
  const directory = await build("7");
  await build("8", {}, { ...selection, project: "/other" });
  const expected = {
    ok: true,
    value: {
      ...selection,
      buildId: 7,
      done: [
        ["a", "before"],
        ["a", "good"],
      ],
    },
  };
  expect(await find("7")).toEqual(expected);
  expect(await find(directory)).toEqual(expected);
  expect(await find("last")).toEqual(expected);
  expect(await find("last", "/other")).toMatchObject({ value: { buildId: 8 } });
  expect(await find(directory, "/other")).toEqual(expected);
  expect(await find("8")).toEqual({ ok: false, error: "there is no earlier build 8: build 8 is of /other" });
});

test("one that is not there, has not ended, or was not noted is told", async () => {
  await build("7", { frozen: false });
  await build("8", {}, null);
  expect(await find("9")).toEqual({ ok: false, error: "there is no earlier build 9" });
  expect(await find("7")).toEqual({ ok: false, error: "there is no earlier build 7: build 7 has not ended" });
  expect(await find("8")).toMatchObject({ ok: false });
  expect(await find("last", "/x")).toEqual({ ok: false, error: `no earlier build of /x is in ${root}/build` });
});

test("what is done is left out, with stages that have nothing else, and the rest is numbered anew", () => {
  const step = "{container: {image: x, cmds: [y]}}";
  const { plan = { stages: [] } } = prepared(`a: {b: ${step}, c: ${step}}\nd: {b: ${step}}\ne: {b: ${step}}\n`);
  const left = withoutDone(plan, [
    ["a", "b"],
    ["d", "b"],
  ]);
  expect(
    left.stages.map(({ stageId, name, steps }) => [stageId, name, steps.map((one) => [one.stepId, one.step])]),
  ).toEqual([
    [1, "a", [[1, "c"]]],
    [2, "e", [[2, "b"]]],
  ]);
});
