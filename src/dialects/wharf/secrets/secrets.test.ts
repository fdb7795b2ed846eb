import { chmod, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { memoryClient } from "#kernel/kit/testing/index.ts";
import { ConfigMap, type KubeObject, Secret } from "#kernel/model/index.ts";
import { newDirectory, writeFiles } from "../repository/testing/projects.ts";
import { directoryPlace } from "./directory-place.ts";
import { findValues, type ValueKind, type ValuePlace } from "./find-values.ts";
import { serverPlace } from "./server-place.ts";

let home: string;
let place: ValuePlace;
const { signal } = new AbortController();

beforeEach(async () => {
  home = await newDirectory();
  place = directoryPlace({ home, platform: "linux", variable: () => undefined });
});
afterEach(() => rm(home, { recursive: true }));

/** Writes files that only their user can read. */
async function write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  await writeFiles(join(home, ".config/slipway"), files);
  for (const path of Object.keys(files)) await chmod(join(home, ".config/slipway", path), 0o600);
}

/** What is found, as texts, or why nothing is. */
async function find(kind: ValueKind, name: string, places: readonly ValuePlace[] = [place]) {
  const found = await findValues(places, kind, name);
  return found.ok
    ? Object.fromEntries([...found.value].map(([key, value]) => [key, value.toString("latin1")]))
    : found.error;
}

describe("files of the user", () => {
  test("are values by their names, byte for byte; what is no file is none", async () => {
    await write({
      "secrets/a.b/token": "x\n",
      "secrets/a.b/key": Buffer.from([0, 255]),
      "configmaps/c/config": "text",
    });
    await mkdir(join(home, ".config/slipway/secrets/a.b/..data"));
    expect(await find("secret", "a.b")).toEqual({ key: "\0\xff", token: "x\n" });
    expect(await find("configMap", "c")).toEqual({ config: "text" });
  });

  test("are refused when they are secrets that others can read", async () => {
    await write({ "secrets/s/token": "x", "configmaps/c/config": "x" });
    const path = join(home, ".config/slipway/secrets/s/token");
    await chmod(path, 0o640);
    expect(await find("secret", "s")).toBe(
      `secret s: others can read or change ${path}: expected mode 600, found 640; chmod 600 makes it so`,
    );
    await chmod(join(home, ".config/slipway/configmaps/c/config"), 0o644);
    expect(await find("configMap", "c")).toEqual({ config: "x" });
  });

  test("are not read beyond what a cluster would take", async () => {
    await write({ "secrets/s/a": "x".repeat(600 * 1024), "secrets/s/b": "x".repeat(600 * 1024) });
    expect(await find("secret", "s")).toMatch(/the values are larger than 1 MiB$/);
  });

  test("that are not there are told with where they were looked for", async () => {
    expect(await find("secret", "none")).toBe(
      `there is no secret none; looked in ${home}/.config/slipway/secrets/none`,
    );
    expect(await find("configMap", "none")).toContain("slipway/configmaps/none");
    for (const name of ["../secrets/s", "", "a/b", ".."])
      expect(await find("secret", name)).toContain("expected a name of letters");
  });
});

describe("a server that runs", () => {
  const client = memoryClient();
  const object = (kind: string, name: string, more: object): KubeObject => ({
    apiVersion: "v1",
    kind,
    metadata: { name, namespace: "default" },
    ...more,
  });
  const server = serverPlace("the running server", () => Promise.resolve({ client, namespace: "default" }), signal);

  test("has secrets and config maps, which come before files", async () => {
    await client.create(
      Secret,
      object("Secret", "s", { data: { token: Buffer.from("of the server").toString("base64") } }),
    );
    await client.create(ConfigMap, object("ConfigMap", "c", { data: { a: "text" }, binaryData: { b: "/w==" } }));
    await write({ "secrets/s/token": "of a file", "secrets/own/token": "own" });
    expect(await find("secret", "s", [server, place])).toEqual({ token: "of the server" });
    expect(await find("configMap", "c", [server, place])).toEqual({ a: "text", b: "\xff" });
    expect(await find("secret", "own", [server, place])).toEqual({ token: "own" });
    expect(await find("secret", "none", [server, place])).toMatch(
      /^there is no secret none; looked in the running server, and in .*\/secrets\/none$/,
    );
  });

  test("is asked when something is looked for, and is not taken for one without secrets when it does not answer", async () => {
    let asked = 0;
    const silent = serverPlace(
      "the running server",
      () => {
        asked += 1;
        return Promise.reject(new Error("connection refused"));
      },
      signal,
    );
    expect(asked).toBe(0);
    await write({ "secrets/own/token": "own" });
    expect(await find("secret", "own", [silent, place])).toBe("secret own: the running server: connection refused");
    expect(asked).toBe(1);
  });
});
