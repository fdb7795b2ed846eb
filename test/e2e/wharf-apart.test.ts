import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commands as programs } from "#app/cli/commands/index.ts";
import { giveRights } from "#test/support/accounts.ts";
import { openBareCluster } from "#test/support/cluster-under-test.ts";
import { freePort } from "#test/support/free-port.ts";
import { bareRepository } from "#test/support/git-servers.ts";
import { wharfHeaders } from "#test/support/wharf-access.ts";
import { blocksOf, commandsOf } from "#test/support/markdown.ts";
import { cleanEnvironment, removeDirectory, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";

// The parts of the hosted system as the guide starts them, for a Kubernetes API that has no controllers of its own.

const patience = { timeout: 80_000 };
const page = blocksOf("docs/guides/wharf-server.md");
const settings = page.find(({ language, text }) => language === "yaml" && text.includes("bindAddress"))?.text ?? "";
const commands = page
  .filter(({ language }) => language === "sh")
  .flatMap(commandsOf)
  .filter((line) => line.includes(" serve "))
  .map((line) => line.replace(/ &$/, ""));
const rights = page.find(({ text }) => text.includes("metadata: {name: wharf-api"))?.text ?? "";

let root: string;
let cluster: Awaited<ReturnType<typeof openBareCluster>>;
let parts: { readonly name: string; readonly process: ChildProcess; said: string }[];
let ports: { readonly api: number; readonly provisioner: number };

beforeEach(async () => {
  root = await temporaryDirectory();
  const kubeconfig = join(root, "cluster.kubeconfig");
  cluster = await openBareCluster(kubeconfig);
  await giveRights(kubeconfig, rights, { "wharf-api": join(root, "wharf-api.kubeconfig") });
  ports = { api: await freePort(), provisioner: await freePort() };
  parts = [];
});
afterEach(async () => {
  for (const { process } of parts) if (process.exitCode === null) process.kill("SIGKILL");
  await cluster.close();
  await removeDirectory(root);
});

/** As it is written in the guide, at addresses that are free here. */
const here = (text: string): string =>
  text.replaceAll(":5001", `:${ports.api}`).replaceAll(":5009", `:${ports.provisioner}`);

/** Starts a line of the guide; the program takes the shell's place. */
function start(line: string): void {
  // Every address is said by the settings, as on a machine of their own.
  const { SLIPWAY_WHARF_LISTEN: _api, SLIPWAY_WHARF_PROVISIONER_LISTEN: _provisioner, ...env } = cleanEnvironment();
  const script = `slipway() { exec node ${slipwayBin} "$@"; }\n${here(line)}`;
  const child = spawn("bash", ["-c", script], {
    cwd: root,
    env: {
      ...env,
      HOME: root,
      WHARF_CONFIG: "services.yml",
      WHARF_WATCHDOG_INTERVAL: "200ms",
      WHARF_WATCHDOG_MINAGE: "0s",
    },
  });
  const part = { name: line.split(" ")[2] ?? "", process: child, said: "" };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (part.said += chunk.toString()));
  parts.push(part);
}

/** Data directories are those of the guide's commands, below the directory of this test. */
const credential = (service: keyof typeof ports) => wharfHeaders(join(root, service));

const everything = () => parts.map(({ name, said }) => `--- ${name}\n${said}`).join("\n");

async function ask<T>(service: keyof typeof ports, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${ports[service]}${path}`, {
    method,
    headers: {
      ...credential(service),
      "content-type": "application/json",
      ...(service === "api" ? { origin: "https://wharf.example" } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.status, text).toBeLessThan(300);
  expect(response.headers.get("access-control-allow-origin")).toBe(service === "api" ? "https://wharf.example" : null);
  return JSON.parse(text === "" ? "null" : text) as T;
}

test("the parts of the guide carry a build to its end, and fail one whose worker is gone", async () => {
  expect(commands.map((line) => line.split(" ")[2])).toEqual(["api", "provisioner", "aggregator", "watchdog"]);
  const examples = programs.filter(({ name }) => name.endsWith(" serve")).flatMap(({ examples }) => examples);
  expect(examples.filter((line) => line.includes("--kubeconfig")).sort()).toEqual([...commands].sort());
  await writeFile(join(root, "services.yml"), here(settings));
  const step = (...cmds: readonly string[]) => ({ container: { image: "none", cmds } });
  const definition = {
    inputs: [{ name: "pw", type: "password", default: "none" }],
    environments: { long: {} },
    a: { b: step("echo hello") },
    c: { environments: ["long"], d: step("echo begun", "sleep 600") },
  };
  bareRepository(root, "p.git", { ".wharf-ci.yml": JSON.stringify(definition) });
  const [api = "", provisioner = "", aggregator = "", watchdog = ""] = commands;
  start(api.replace("cluster.kubeconfig", "wharf-api.kubeconfig"));
  await expect.poll(() => parts[0]?.said, patience).toContain("wharf-api: ");
  for (const line of [provisioner, aggregator]) start(line);
  await expect.poll(() => parts[1]?.said, patience).toContain("Wharf's provisioner: ");
  await ask("api", "POST", "/api/project", {
    name: "web",
    groupName: "tools",
    gitUrl: join(root, "p.git"),
    buildDefinition: JSON.stringify(definition),
  });
  await ask("api", "POST", "/api/project/1/branch", { name: "main", default: true });
  await ask("api", "POST", "/api/provider", { name: "gitlab", url: "https://git.example" });
  await ask("api", "PUT", "/api/provider/1", { name: "gitlab", url: "https://gitlab.example" });
  await ask("api", "POST", "/api/token", { token: "t", userName: "u" });
  await ask("api", "POST", "/api/project/1/build", { pw: "hunter22" });
  const statusOf = (number: number) => ask<object>("api", "GET", `/api/build/${number}`);
  await expect.poll(() => statusOf(1), patience).toMatchObject({ status: "Completed" });
  await ask("api", "POST", "/api/project/1/build?environment=long", {});
  await expect.poll(() => statusOf(2), patience).toMatchObject({ status: "Running" });
  await ask("provisioner", "DELETE", "/api/worker/wharf-cmd-worker-local-2?force=1");
  await expect.poll(() => ask("provisioner", "GET", "/api/worker"), patience).toEqual([]);
  start(watchdog);
  await expect.poll(() => statusOf(2), patience).toMatchObject({ status: "Failed", reason: "WorkerLost" });
  const lines = await ask<readonly { readonly message: string }[]>("api", "GET", "/api/build/1/log");
  expect(lines.map(({ message }) => message)).toContain("hello");
  const audited = (await readFile(join(root, "api/audit/audit.jsonl"), "utf8")).trim().split("\n");
  expect(audited.map((line) => JSON.parse(line) as object)).toEqual(
    [1, 2].map((number) => expect.objectContaining({ number, user: "wharf:token from 127.0.0.1", via: "wharf-api" })),
  );
  // A page has no token, and one that is not named could not read an answer.
  const foreign = await fetch(`http://127.0.0.1:${ports.api}/api/build/1`, {
    headers: { origin: "https://other.example" },
  });
  expect([foreign.status, foreign.headers.get("access-control-allow-origin")]).toEqual([401, null]);
  for (const { process } of parts) process.kill("SIGTERM");
  const codes = await Promise.all(
    parts.map(async ({ process }) =>
      process.exitCode === null ? await once(process, "exit") : [process.exitCode, null],
    ),
  );
  expect(codes, everything()).toEqual(parts.map(() => [0, null]));
});
