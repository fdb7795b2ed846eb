import { chmod, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { removeDirectory, slipway } from "#test/support/slipway.ts";
import { messagesOf, readBuildFile, resultsOf, type WharfProject, wharfProject } from "#test/support/wharf.ts";
import { writeFiles } from "#dialects/wharf/repository/testing/projects.ts";

const homes: string[] = [];
const project = async (definition: string, files: Readonly<Record<string, string>> = {}): Promise<WharfProject> => {
  const made = await wharfProject(definition, files);
  homes.push(made.home);
  return made;
};
afterEach(async () => {
  for (const home of homes.splice(0)) await removeDirectory(home);
});

const run = (at: WharfProject, ...args: readonly string[]) =>
  slipway(["run", "--runtime", "host", ...args], { cwd: at.directory, env: at.env });
const step = (script: string, more = ""): string =>
  `{container: {image: any, cmds: [${JSON.stringify(script)}]${more}}}`;

describe("secrets of the user", () => {
  const definition = `s:\n  a: ${step('echo "$TOKEN"; printf %s "$TOKEN" | base64; test "$TOKEN" = top-secret', ", secretName: mine")}\n`;

  test("are variables of the step that names them, and stars in what it prints", async () => {
    const at = await project(definition);
    const path = ".config/slipway/secrets/wharf-local-project-7-secretname-mine/TOKEN";
    await writeFiles(at.home, { [path]: "top-secret" });
    await chmod(join(at.home, path), 0o600);
    const env = { ...at.env, HOME: at.home, XDG_CONFIG_HOME: join(at.home, ".config") };
    const args = ["run", "--runtime", "host", "--project-id", "7", "--build-id", "1"];
    const { code, out } = await slipway(args, { cwd: at.directory, env });
    expect(out).toContain("s/a │ ***\n");
    expect(code).toBe(0);
    expect(await messagesOf(resultsOf(at, 1), 1)).toEqual(["***", "***"]);
  });

  test("that are not there fail the step, which says where they were looked for", async () => {
    const at = await project(definition);
    const { code, out } = await run(at, "--project-id", "7", "--build-id", "1");
    expect(code).toBe(1);
    expect(out).toMatch(
      /there is no secret wharf-local-project-7-secretname-mine; looked in \/.*\/slipway\/secrets\/wharf-local-/,
    );
  });
});

test("builds that nobody has numbered are counted, and globs say what is kept of them", async () => {
  const at = await project(
    `s:\n  a: ${step("mkdir out; echo $WHARF_BUILD_ID > out/n.txt", ", artifacts: ['out/**', 'none/*']")}\n`,
  );
  expect((await run(at)).code).toBe(0);
  expect((await run(at)).code).toBe(0);
  const directory = join(resultsOf(at, 2), "steps", "1");
  expect(await readdir(join(directory, "artifacts"))).toEqual(["1_n.txt"]);
  expect(await readFile(join(directory, "artifacts", "1_n.txt"), "utf8")).toBe("2\n");
  expect(await messagesOf(resultsOf(at, 2), 1)).toEqual(['[slipway] artifacts[1] "none/*" matches no file']);
});

test("a build goes on where a former one has failed, with the same inputs, as often as that takes", async () => {
  const at = await project(
    `inputs: [{name: v, type: string}, {name: pw, type: password}]\ns:\n  good: ${step("echo once")}\nt:\n  bad: ${step('echo "v is ${v}"; exit 4')}\n  other: ${step("echo x")}\n`,
  );
  expect((await run(at, "-i", "v=given", "-i", "pw=hidden1")).code).toBe(1);
  const forgotten = await run(at, "--rerun-failed", "last");
  expect([forgotten.code, forgotten.err]).toEqual([
    1,
    expect.stringContaining("the input pw is a password, which is not kept"),
  ]);
  const again = await run(at, "--rerun-failed", "1", "-i", "pw=hidden1");
  expect(again.out).toContain("t/bad │ v is given\n");
  expect(again.out).not.toContain("s/good");
  expect(await readFile(join(resultsOf(at, 2), "selection.json"), "utf8")).not.toContain("hidden1");
  expect(await readBuildFile(resultsOf(at, 2))).toMatchObject({
    status: "Failed",
    stages: [{ stageId: 1, name: "t" }],
  });
});
