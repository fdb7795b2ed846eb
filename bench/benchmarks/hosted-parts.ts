import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { ownCommand } from "../harness/commands.ts";
import type { Environment } from "../harness/environment.ts";
import type { WorkerProcess } from "../harness/worker-process.ts";
import { carriedLine, carriedSteps } from "../ours/carried-lines.ts";
import type { BuildsCluster } from "../ours/builds-cluster.ts";

/** A program of ours that runs until it is told to end. */
interface Program {
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

/** wharf-api and an aggregator as users start them, each a process of its own, for an API server that is a third. */
export class HostedParts {
  readonly api: Program;
  readonly aggregator: Program;
  readonly #url: string;
  readonly #token: string;
  readonly #cluster: WorkerProcess;

  private constructor(url: string, token: string, cluster: WorkerProcess, api: Program, aggregator: Program) {
    this.#url = url;
    this.#token = token;
    this.#cluster = cluster;
    this.api = api;
    this.aggregator = aggregator;
  }

  /** All of them at work, with a project whose builds an engine takes. */
  static async start(environment: Environment): Promise<HostedParts> {
    const dir = await environment.directory();
    const cluster = environment.worker("ours/builds-cluster");
    environment.onClose(() => cluster.close());
    const { kubeconfig, engine } = await cluster.call<BuildsCluster>("start", { dir });
    const token = randomUUID();
    const tokenFile = `${dir}/token`;
    await writeFile(tokenFile, token, { mode: 0o600 });
    const listen = `127.0.0.1:${environment.ports()}`;
    const own = ["--kubeconfig", kubeconfig, "--data-dir", `${dir}/data`];
    const flags = [
      "--wharf-listen",
      listen,
      "--wharf-engine-url",
      `${engine}/api/worker`,
      "--wharf-aggregator",
      "off",
      "--wharf-auth-token-file",
      tokenFile,
    ];
    const url = `http://${listen}`;
    const api = await startProgram(environment, ["wharf", "api", "serve", ...own, ...flags], "wharf-api: ");
    const services = ["--api", url, "--provisioner", engine, "--auth-token-file", tokenFile];
    const aggregator = await startProgram(environment, ["wharf", "aggregator", "serve", ...own, ...services]);
    const parts = new HostedParts(url, token, cluster, api, aggregator);
    await parts.#ask("POST", "/project", { name: "web", groupName: "tools", gitUrl: `${dir}/none.git` });
    await parts.#ask("POST", "/project/1/branch", { name: "main", default: true });
    return parts;
  }

  /** A new build, which no worker is announced of yet. Its number. */
  async build(): Promise<number> {
    const { buildRef } = (await this.#ask("POST", "/project/1/build", {})) as { readonly buildRef: string };
    return Number(buildRef);
  }

  /** The aggregator learns of the build's worker. */
  async announce(build: number, address: string): Promise<void> {
    await this.#cluster.call("announce", { build, address });
  }

  /** Resolves when the build has ended for everybody; rejects when it has failed. */
  async completion(build: number): Promise<void> {
    const outcome = await this.#cluster.call<string>("outcome", { build });
    if (outcome !== "Completed") throw new Error(`build ${build}: ${outcome}`);
  }

  /** Removes a build that has ended and its worker. Rejects unless each step has so many lines, the last of them as it was printed. */
  async remove(build: number, lines: number): Promise<void> {
    const path = `/build/${build}`;
    const cursors = (await this.#ask("GET", `${path}/log/cursor`)) as readonly { readonly lastWorkerLogId: number }[];
    const there = cursors.map(({ lastWorkerLogId }) => lastWorkerLogId);
    if (there.length !== carriedSteps || there.some((last) => last !== lines))
      throw new Error(`expected ${lines} lines of each step, found ${there.join(", ")}`);
    for (let stepId = 1; stepId <= carriedSteps; stepId++) {
      const found = await this.#ask("GET", `${path}/log?stepId=${stepId}&after=${lines - 1}`);
      const [last] = found as readonly { readonly message: string }[];
      if (last?.message !== carriedLine(lines)) throw new Error(`step ${stepId} ends with ${JSON.stringify(last)}`);
    }
    await this.#cluster.call("remove", { build });
  }

  async close(): Promise<void> {
    await this.aggregator.stop();
    await this.api.stop();
    await this.#cluster.close();
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const response = await fetch(`${this.#url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }
}

/** Resolves when it has said `word`; at once without one. */
async function startProgram(environment: Environment, args: readonly string[], word?: string): Promise<Program> {
  const { profiles } = environment;
  const flags = profiles === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
  const child = spawn(process.execPath, [...flags, ownCommand(environment), ...args], {
    stdio: ["ignore", "pipe", process.env["VERBOSE"] === undefined ? "ignore" : "inherit"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await exited;
  };
  environment.onClose(stop);
  let said = "";
  const ready = new Promise<void>((resolve) => {
    child.stdout.on("data", (part: Buffer) => {
      said += part.toString();
      if (said.includes(word ?? "")) resolve();
    });
  });
  const died = exited.then(() => Promise.reject(new Error(`${args.join(" ")} ended before it served`)));
  died.catch(() => undefined); // It ends when it is told to.
  if (word !== undefined) await Promise.race([ready, died]);
  return { pid: child.pid ?? 0, stop };
}
