import { existsSync } from "node:fs";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { type BrowserContextOptions, chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import {
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  startServer,
  temporaryDirectory,
} from "#test/support/slipway.ts";
import { hostile, question } from "./documents.ts";

const program = ["/usr/bin/chromium", "/usr/bin/chromium-headless-shell"].find(existsSync);

// Vitest's own reads modules of its cache as text, which they are not here, and would hide what has really failed.
Reflect.deleteProperty(Error, "prepareStackTrace");

/** A server with examples of every dialect, for all files: each test leaves what the others look at as it was. */
export interface SharedServer {
  readonly url: string;
  readonly directory: string;
  /** Of the administrator. */
  readonly session: Exclude<BrowserContextOptions["storageState"], string | undefined>;
  /** RS_ENDPOINT: where agents of machines ask for work. */
  readonly rebar: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** Where the one browser of the test run listens. */
    browser: string;
    server: SharedServer;
  }
}

/** One browser for all files; each test has a context of its own. */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  if (program === undefined)
    throw new Error("the tests of the web UI need a browser: apt-get install -y --no-install-recommends chromium");
  // Tests run as root, where the browser has no sandbox of its own.
  const browser = await chromium.launchServer({ executablePath: program, args: ["--no-sandbox"] });
  const directory = await temporaryDirectory();
  const listen = ["--rebar-listen", "127.0.0.1:0", "--rebar-files", "off", "--tink-listen", "127.0.0.1:0"];
  const server = await startServer(join(directory, "data"), listen);
  await seed(directory, server.directory);
  const { url } = server;
  const [, rebar = ""] = /RS_ENDPOINT=(https:\S+)/.exec(server.printed()) ?? [];
  const session = await login(server.directory);
  provide("browser", browser.wsEndpoint());
  provide("server", { url, directory: server.directory, session, rebar });
  return async () => {
    await browser.close();
    await server.stop();
    await endRunner(server.directory);
    await removeDirectory(directory);
  };
}

/** As a link does in the page. */
async function login(data: string): Promise<SharedServer["session"]> {
  const { out } = await slipway(["ui", "-o", "json"], { env: { SLIPWAY_DATA_DIR: data } });
  const { url, code } = JSON.parse(out) as { readonly url: string; readonly code: string };
  const headers = { "X-Slipway-Request": "login", "Content-Type": "application/json" };
  const sent = request(url, { method: "POST", headers, ca: await readFile(join(data, "pki/ca.crt")), agent: false });
  sent.end(JSON.stringify({ code }));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const { key } = (await json(response)) as { readonly key: string };
  const [name = "", value = ""] = response.headers["set-cookie"]?.[0]?.split(";")[0]?.split("=") ?? [];
  const rules = { path: "/", expires: -1, secure: true, httpOnly: true, sameSite: "Strict" } as const;
  return {
    cookies: [{ name, value, domain: "127.0.0.1", ...rules }],
    origins: [{ origin: new URL(url).origin, localStorage: [{ name: "slipway.session", value: key }] }],
  };
}

/** Applied, and not waited for: tests wait for what they look at. */
async function seed(directory: string, data: string): Promise<void> {
  const repository = join(directory, "web");
  await cp(join(root, "examples/wharf/hello"), repository, { recursive: true });
  const author = ["-c", "user.name=anna", "-c", "user.email=anna@example.org"];
  for (const words of [
    ["init", "--quiet", "--initial-branch", "main"],
    ["add", "--all"],
    ["commit", "--quiet", "-m", "first"],
  ])
    await exec("git", ["-C", repository, ...author, ...words]);
  const own = join(directory, "own.yaml");
  const build = `apiVersion: wharf.slipway.dev/v1alpha1
kind: Project
metadata: {name: web}
spec: {name: web, gitUrl: ${repository}, branches: [{name: main, default: true}]}
---
apiVersion: wharf.slipway.dev/v1alpha1
kind: Build
metadata: {name: build-1}
spec: {project: web}
`;
  await writeFile(own, [hostile, question, build].join("---\n"));
  const examples = [
    "workflow/diamond",
    "workflow/approval",
    "workflow/nightly",
    "workflow/templates",
    "tinkerbell/greet",
    "vela/workflow-run",
  ];
  const files = [own, ...examples.map((name) => `examples/${name}.yaml`)].flatMap((file) => ["-f", file]);
  for (const args of [
    ["apply", ...files],
    ["run", "examples/rebar/hello.yaml", "--detach"],
  ]) {
    const { code, err } = await slipway(args, { env: { SLIPWAY_DATA_DIR: data } });
    if (code !== 0) throw new Error(`slipway ${args.join(" ")} ended with ${code}\n${err}`);
  }
}
