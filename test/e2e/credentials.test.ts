import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  endRunner,
  exec,
  type Finished,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";

let directory: string;
let server: TestServer;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
});
afterAll(async () => {
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

const cli = (...args: string[]): Promise<Finished> =>
  slipway(args, { cwd: directory, env: { SLIPWAY_DATA_DIR: server.directory } });
const kubectl = (file: string, ...args: string[]): Promise<Finished> =>
  exec("kubectl", ["--kubeconfig", join(directory, file), ...args]);

/** By another name that its certificate has. */
const reached = () => server.url.replace("127.0.0.1", "localhost");

test.each([
  ["token", []],
  ["certificate", ["--certificate", "--server"]],
])(
  "kubectl gets in with a kubeconfig by %s, as that user and no longer than until it is revoked",
  async (form, more) => {
    const file = `${form}.kubeconfig`;
    const made = await cli(
      "credential",
      "create",
      "--user",
      form,
      "--role",
      "viewer",
      "--to",
      file,
      ...more,
      ...(form === "token" ? [] : [reached()]),
    );
    expect(made.code, made.err).toBe(0);
    const url = form === "token" ? server.url : reached();
    expect(await readFile(join(directory, file), "utf8")).toContain(`server: ${url}\n`);
    expect((await stat(join(directory, file))).mode & 0o777).toBe(0o600);
    const who = await kubectl(file, "auth", "whoami", "-o", "json");
    expect(JSON.parse(who.out), who.err).toMatchObject({
      status: { userInfo: { username: form, groups: ["slipway:viewers", "system:authenticated"] } },
    });
    expect((await kubectl(file, "get", "workflows")).code).toBe(0);
    expect((await kubectl(file, "create", "configmap", "x")).err).toContain(`User "${form}" cannot create`);
    expect((await kubectl(file, "get", "secrets")).err).toContain("forbidden");
    expect((await cli("credential", "revoke", "--user", form)).code).toBe(0);
    expect((await kubectl(file, "get", "workflows")).err).toMatch(/unauthorized|must be logged in/i);
  },
);

test("a token is in no file of the server, and the audit log says who made it", async () => {
  const { out } = await cli("credential", "create", "--user", "nina");
  const token = out.trim();
  // By what is found, not by the exit code: files of the store may go while they are searched.
  const filesWith = async (text: string) => (await exec("grep", ["-rlasF", text, server.directory])).out;
  expect(await filesWith("nina")).not.toBe("");
  expect(await filesWith(token)).toBe("");
  await server.stop();
  const lines = (await readFile(join(server.directory, "audit/audit.jsonl"), "utf8")).split("\n");
  const line = lines.findLast((text) => text.includes('"resource":"credentials"') && text.includes("nina"));
  expect(line).toContain('"user":"slipway:admin"');
  expect(line).toContain('"verb":"create"');
});
