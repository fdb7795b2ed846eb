import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeClock, type JsonObject } from "#lib/base/index.ts";
import type { ResourceType } from "#kernel/model/index.ts";
import { type MemoryClient, memoryClient } from "#kernel/kit/testing/index.ts";
import { type CommandLine, commandLine } from "#test/support/command-line.ts";

const type: ResourceType = {
  group: "slipway.dev",
  version: "v1alpha1",
  kind: "Credential",
  plural: "credentials",
  namespaced: false,
};

let client: MemoryClient;
let cli: CommandLine;
beforeEach(async () => {
  const clock = new FakeClock(Date.parse("2026-01-01T00:00:00Z"));
  client = memoryClient({ clock, types: [type] });
  cli = await commandLine({ client, clock });
});
afterEach(() => cli.close());

const stored = async (): Promise<readonly JsonObject[]> =>
  (await client.list(type)).items.map((item) => JSON.parse(JSON.stringify(item)) as JsonObject);

test("the token alone is on stdout, and the server is sent nothing it could be made from", async () => {
  const { code, out, err } = await cli.run(
    "credential",
    "create",
    "--user",
    "anna",
    "--role",
    "viewer",
    "--group",
    "g",
  );
  expect(code).toBe(0);
  expect(out).toMatch(/^[\w-]{43}\n$/);
  expect(err).toMatch(
    /^slipway: credential\/[0-9a-f]{16} created, valid until 2026-01-31T00:00:00Z; .*not shown again\n$/,
  );
  const [object] = await stored();
  expect(object).toMatchObject({
    spec: { user: "anna", groups: ["g", "slipway:viewers"], form: "Token", expiresAt: "2026-01-31T00:00:00Z" },
  });
  expect(JSON.stringify(object)).not.toContain(out.trim());
});

test("a token without an end is asked for by name", async () => {
  const { out } = await cli.run("token", "create", "--user", "anna", "--expires-in", "never", "-o", "json");
  expect(JSON.parse(out)).toEqual({ name: expect.stringMatching(/^[0-9a-f]{16}$/), token: expect.any(String) });
  expect((await stored())[0]).toMatchObject({ spec: { user: "anna", groups: [] } });
  expect((await stored())[0]).not.toHaveProperty("spec.expiresAt");
});

test("one is revoked by its name, or all of a user, and those of others stay", async () => {
  for (const user of ["anna", "anna", "bob"]) await cli.run("credential", "create", "--user", user);
  const done = await cli.run("credential", "revoke", "--user", "anna");
  expect(done.out.match(/credential\/[0-9a-f]{16} revoked\n/g)).toHaveLength(2);
  const [left, ...others] = (await client.list(type)).items;
  expect([left?.spec, others]).toMatchObject([{ user: "bob" }, []]);
  expect((await cli.run("credential", "revoke", left?.metadata.name ?? "")).code).toBe(0);
  expect(await stored()).toEqual([]);
  expect(await cli.run("credential", "revoke", "--user", "anna")).toEqual({
    code: 0,
    out: "",
    err: "slipway: anna has no credentials\n",
  });
});

test.each([
  [["crate"], 'expected one of create, list, revoke, found "crate"; did you mean create?'],
  [["create"], "--user is required"],
  [["create", "anna"], "create takes no names, found anna"],
  [["create", "--user", "a", "--expires-in", "soon"], "--expires-in: expected a duration"],
  [["create", "--user", "a", "--expires-in", "-1h"], "--expires-in: expected a time above 0"],
  [["create", "--user", "a", "--certificate"], "--certificate requires --to FILE"],
  [["create", "--user", "a", "--certificate", "--to", "f", "--expires-in", "never"], "a certificate must expire"],
  [["create", "--user", "a", "--server", "https://a.example"], "--server requires --to FILE"],
  ...["http://a.example", "a.example:6443", "https://u:p@a.example", "https://a.example/api"].map(
    (url): [string[], string] => [["create", "--user", "a", "--to", "f", "--server", url], "--server: expected a URL"],
  ),
  [["revoke"], "revoke takes names, as list shows them, or --user"],
  [["revoke", "x", "--user", "a"], "revoke takes names, as list shows them, or --user"],
])("%j is wrong usage, and nothing is made", async (words, message) => {
  const { code, err } = await cli.run("credential", ...words);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
  expect(await stored()).toEqual([]);
  expect(await readdir(cli.directory)).toEqual([]);
});

test("a file that is there stays, and no credential is made for nothing", async () => {
  await writeFile(join(cli.directory, "mine"), "precious");
  const { code, err } = await cli.run("credential", "create", "--user", "a", "--to", "mine");
  expect([code, err]).toEqual([1, expect.stringContaining("mine already exists\n--force replaces it")]);
  expect(await stored()).toEqual([]);
});
