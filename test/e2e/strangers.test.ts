import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OtherUser } from "#test/support/other-user.ts";
import { removeDirectory, slipway, temporaryDirectory } from "#test/support/slipway.ts";

// What another user of the machine leaves in places that both can write to, before this user comes there.

let root: string;
let shared: string;
let other: OtherUser;
const env = () => ({ HOME: root, TMPDIR: root, XDG_RUNTIME_DIR: root });

beforeAll(async () => {
  root = await temporaryDirectory();
  await chmod(root, 0o755);
  shared = join(root, "shared");
  await mkdir(shared);
  // As /tmp.
  await chmod(shared, 0o1777);
  other = await OtherUser.open();
});
afterAll(async () => {
  await other?.close();
  await removeDirectory(root);
});

const asOther = async (script: string): Promise<void> => {
  expect(await other.run("sh", ["-c", script])).toMatchObject({ code: 0 });
};

test("variables that another user leaves above a project are ignored, and a warning says so", async () => {
  const project = join(shared, "project");
  await mkdir(project);
  await writeFile(join(project, ".wharf-ci.yml"), "a: {b: {container: {image: x, cmds: [id]}}}\n");
  const list = () => slipway(["wharf", "vars", "list", "-a", project], { env: env() });
  await writeFile(join(root, ".wharf-vars.yml"), "vars: {REG_URL: own.example}\n");
  await asOther(`echo 'vars: {REG_URL: evil.example}' > ${shared}/.wharf-vars.yml`);
  const { code, out, err } = await list();
  expect(code, err).toBe(0);
  expect(err).toContain(`${shared}/.wharf-vars.yml belongs to another user and is ignored`);
  expect(out).toContain("own.example");
  expect(out).not.toContain("evil.example");
});

test("a server in the background writes no log through a link in the directory of another user", async () => {
  const victim = join(root, "authorized_keys");
  await writeFile(victim, "kept\n");
  const data = join(shared, "data");
  await asOther(`mkdir -m 777 ${data} && ln -s ${victim} ${data}/slipway.log`);
  const { code, err } = await slipway(["up", "--detach", "--port", "0", "--data-dir", data], { env: env() });
  expect(code).not.toBe(0);
  expect(err).toContain(`${data} belongs to another user`);
  expect(await readFile(victim, "utf8")).toBe("kept\n");
});
