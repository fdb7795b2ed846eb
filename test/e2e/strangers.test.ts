import { existsSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { OtherUser } from "#test/support/other-user.ts";
import { exec, removeDirectory, slipway, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";

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

test("what a server keeps is its user's alone, whatever the umask, and a link in the place of its kubeconfig is replaced", async () => {
  const [data, victim] = [join(root, "own"), join(root, "victim")];
  await mkdir(data, { mode: 0o700 });
  await writeFile(victim, "kept\n");
  await symlink(victim, join(data, "kubeconfig"));
  const script = `umask 0; exec ${process.execPath} ${slipwayBin} up --detach --port 0 --data-dir ${data}`;
  const up = await exec("sh", ["-c", script], { env: env() });
  try {
    expect(up.code, up.err).toBe(0);
    expect(await readFile(victim, "utf8")).toBe("kept\n");
    expect((await lstat(join(data, "kubeconfig"))).isFile()).toBe(true);
    expect(await slipway(["status", "--kubeconfig", join(data, "kubeconfig")], { env: env() })).toMatchObject({
      code: 0,
    });
    await expect.poll(() => existsSync(join(data, "audit/audit.jsonl"))).toBe(true);
    const kept = await readdir(data, { recursive: true, withFileTypes: true });
    const names = kept.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    for (const name of ["kubeconfig", "slipway.log", "audit/audit.jsonl", "store/store.mdb"])
      expect(names).toContain(join(data, name));
    const modes = await Promise.all(names.map(async (name) => [name, (await lstat(name)).mode & 0o022]));
    expect(modes).toEqual(names.map((name) => [name, 0]));
    expect((await lstat(data)).mode & 0o777).toBe(0o700);
    for (const name of names) expect(await other.run("cat", [name])).toMatchObject({ code: 1 });
    for (const secret of [join(data, "kubeconfig"), join(data, "slipway.log"), join(data, "pki/ca.key")])
      expect((await lstat(secret)).mode & 0o077, secret).toBe(0);
  } finally {
    await slipway(["down", "--data-dir", data], { env: env() });
  }
  // A link to a directory of another user is that directory.
  await asOther(`mkdir -m 700 ${shared}/theirs`);
  await symlink(join(shared, "theirs"), join(root, "linked"));
  const linked = await slipway(["up", "--port", "0", "--data-dir", join(root, "linked")], { env: env() });
  expect([linked.code, linked.err]).toEqual([1, expect.stringContaining("belongs to another user")]);

  const backup = join(root, "backup.mdb");
  expect(await slipway(["store", "backup", backup, "--data-dir", data], { env: env() })).toMatchObject({ code: 0 });
  const restored = await slipway(["store", "restore", backup, "--data-dir", join(shared, "theirs")], { env: env() });
  expect([restored.code, restored.err]).toEqual([1, expect.stringContaining("belongs to another user")]);
  expect(await other.run("ls", ["-A", join(shared, "theirs")])).toEqual({ code: 0, out: "" });
  // What another user has put in the place of a copy, or of what it is made from, is not written through.
  await asOther(`ln -s ${victim} ${shared}/copy.mdb && ln -s ${root} ${shared}/copy.mdb.unfinished`);
  const copied = await slipway(["store", "backup", join(shared, "copy.mdb"), "--data-dir", data, "--force"], {
    env: env(),
  });
  expect(copied.code, copied.err).toBe(0);
  expect(await readFile(victim, "utf8")).toBe("kept\n");
  expect((await lstat(join(shared, "copy.mdb"))).mode & 0o777).toBe(0o600);
});
