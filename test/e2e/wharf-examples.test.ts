import { readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { exec, removeDirectory, slipwayBin, slipway, temporaryDirectory } from "#test/support/slipway.ts";

let home: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  home = await temporaryDirectory();
  env = { HOME: home, TMPDIR: home };
});
afterAll(() => removeDirectory(home));

test("hello greets, leaves a file, and needs nobody to be told of a failure", async () => {
  const run = await slipway(["run", "--runtime", "host", "examples/wharf/hello", "-i", "name=you", "--build-id", "1"], {
    env,
  });
  expect(run.code, run.err).toBe(0);
  expect(run.out).toContain("greet/hello │ hello, you\n");
  expect(run.out).toMatch(/report +mail +None/);
  const results = join(home, "iver-wharf/build/1");
  expect(await readFile(join(results, "steps/2/artifacts/1_greeting.txt"), "utf8")).toBe("greeted you\n");
});

test("under the name of the original's command it is that command", async () => {
  const wharf = join(home, "wharf");
  await symlink(slipwayBin, wharf);
  const run = await exec(process.execPath, [wharf, "run", "--runtime", "host", "--quiet", "examples/wharf/hello"], {
    env,
  });
  expect(run.code, run.err).toBe(0);
  const lint = await exec(process.execPath, [wharf, "lint", "examples/wharf"], { env });
  expect(lint.code, lint.out).toBe(0);
});
