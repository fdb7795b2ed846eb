import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bareRepository } from "#test/support/git-servers.ts";
import {
  cleanEnvironment,
  endRunner,
  removeDirectory,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
} from "#test/support/slipway.ts";
import { wharfHeaders } from "#test/support/wharf-access.ts";

// wharf-api, provisioner, aggregator and watchdog as four processes beside one `slipway up`: they find each other, and their tokens, by themselves.

const patience = { timeout: 100_000 };

let root: string;
let env: Record<string, string>;
let parts: { readonly name: string; readonly process: ChildProcess; said: string }[];
beforeEach(async () => {
  root = await temporaryDirectory();
  // Servers note themselves there: those of other tests have another place.
  await mkdir(join(root, "tmp"));
  env = { HOME: root, TMPDIR: join(root, "tmp") };
  parts = [];
});
afterEach(async () => {
  for (const { process } of parts) if (process.exitCode === null) process.kill("SIGKILL");
  await endRunner(join(root, "data"));
  await removeDirectory(root);
});

const kubeconfig = () => join(root, "data/kubeconfig");

function serve(name: string, ...words: readonly string[]): () => string {
  const { SLIPWAY_WHARF_LISTEN: _api, SLIPWAY_WHARF_PROVISIONER_LISTEN: _provisioner, ...rest } = cleanEnvironment(env);
  const args = ["wharf", name, "serve", "--kubeconfig", kubeconfig(), "--data-dir", join(root, name), ...words];
  const child = spawn(process.execPath, [slipwayBin, ...args], { cwd: root, env: rest });
  const part = { name, process: child, said: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (part.said += chunk.toString()));
  parts.push(part);
  return () => part.said;
}

test("four processes beside a slipway up run a build; a server that is away is waited for", async () => {
  const up = await startServer(join(root, "data"), [], env);
  const api = serve("api", "--address", "127.0.0.1:0");
  const provisioner = serve("provisioner", "--address", "127.0.0.1:0");
  await expect.poll(api, patience).toContain("wharf-api: ");
  await expect.poll(provisioner, patience).toContain("Wharf's provisioner: ");
  expect(await up.stop()).toBe(0);
  const others = [serve("aggregator"), serve("watchdog")];
  for (const said of others) await expect.poll(said, patience).toContain("waiting for the API server");
  const again = await startServer(join(root, "data"), ["--port", new URL(up.url).port], env);

  const url = `http://${/wharf-api: (\S+)/.exec(api())?.[1] ?? ""}`;
  const ask = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...wharfHeaders(join(root, "api")), "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return JSON.parse(text === "" ? "null" : text) as T;
  };
  const lines = Array.from({ length: 3000 }, (_, at) => `line ${at + 1}`);
  const step = {
    container: { image: "none", cmds: ["seq -f 'line %.0f' 3000", "echo kept > report.txt"], artifacts: ["*.txt"] },
  };
  const definition = JSON.stringify({ main: { step } });
  bareRepository(root, "p.git", { ".wharf-ci.yml": definition });
  const project = { name: "web", groupName: "tools", gitUrl: join(root, "p.git"), buildDefinition: definition };
  await ask("POST", "/api/project", project);
  await ask("POST", "/api/project/1/branch", { name: "main", default: true });
  await ask("POST", "/api/project/1/build", {});
  await expect.poll(() => ask("GET", "/api/build/1"), patience).toMatchObject({ status: "Completed" });
  const log = await ask<readonly { readonly message: string }[]>("GET", "/api/build/1/log");
  expect(log.map(({ message }) => message).filter((message) => message.startsWith("line "))).toEqual(lines);
  const { list } = await ask<{ readonly list: readonly object[] }>("GET", "/api/build/1/artifact");
  expect(list).toMatchObject([{ fileName: "report.txt" }]);

  for (const { process } of parts) process.kill("SIGTERM");
  for (const { name, process, said } of parts) {
    if (process.exitCode === null) await once(process, "exit");
    expect(process.exitCode, `${name}: ${said}`).toBe(0);
  }
  expect(await again.stop()).toBe(0);
});

test("a provisioner beside a server that starts workers itself is refused", async () => {
  const up = await startServer(join(root, "data"), ["--wharf-provisioner-listen", "127.0.0.1:0"], env);
  const args = ["wharf", "provisioner", "serve", "--kubeconfig", kubeconfig(), "--address", "127.0.0.1:0"];
  const refused = await slipway(args, { cwd: root, env });
  expect(refused.code).toBe(1);
  expect(refused.err).toContain("--wharf-provisioner-listen off");
  expect(await up.stop()).toBe(0);
  expect(await readFile(kubeconfig(), "utf8")).toContain("clusters");
});
