import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { bareRepository } from "./git-servers.ts";
import { endRunner, startServer, type TestServer } from "./slipway.ts";
import { wharfHeaders } from "./wharf-access.ts";

/** A line of a build, as wharf-api tells it. */
export interface BuildLine {
  readonly message: string;
  readonly workerStepId: number;
  readonly workerLogId: number;
}

/** What wharf-api tells of a build. */
export interface BuildFacts {
  readonly status: string;
  readonly reason?: string;
}

/** A worker that does not end politely is killed after ten seconds. */
const workersEndMs = 40_000;

/** The step of a definition that runs a script. */
export const scriptStep = (...cmds: readonly string[]) => ({ container: { image: "busybox", cmds } });

/** A worker as the provisioner tells of it. */
export interface ToldWorker {
  readonly workerId: string;
  readonly address: string;
}

/** A service, as a server's greeting calls it. */
export type WharfPart = "wharf-api" | "Wharf's provisioner";

/** wharf-api and the provisioner, asked over REST, wherever they are. */
export abstract class WharfRest {
  /** Of the test: its repositories are there. */
  protected readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Where a service answers, `http://host:port`. */
  abstract address(part: WharfPart): string;

  /** What every request to a service bears. */
  abstract credential(part: WharfPart): Readonly<Record<string, string>>;

  /** An answer of wharf-api as data; refusals fail the test. */
  async ask<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { ...this.credential("wharf-api"), "content-type": "application/json" };
    const response = await fetch(`${this.address("wharf-api")}/api${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers,
    });
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return JSON.parse(text === "" ? "null" : text) as T;
  }

  async workers(): Promise<readonly ToldWorker[]> {
    const headers = this.credential("Wharf's provisioner");
    const response = await fetch(`${this.address("Wharf's provisioner")}/api/worker`, { headers });
    return (await response.json()) as readonly ToldWorker[];
  }

  facts(number: string): Promise<BuildFacts> {
    return this.ask("GET", `/build/${number}`);
  }

  /** Lines of one step by their numbers, or of all steps as they came. */
  log(number: string, stepId?: number): Promise<readonly BuildLine[]> {
    return this.ask("GET", `/build/${number}/log${stepId === undefined ? "" : `?stepId=${stepId}`}`);
  }

  /** Project 1 with a branch: a repository with this definition. */
  async addProject(definition: object): Promise<void> {
    bareRepository(this.directory, "web.git", { ".wharf-ci.yml": JSON.stringify(definition) });
    await this.addProjectAt(join(this.directory, "web.git"));
  }

  /** With a token for its repository, if there is one. */
  async addProjectAt(gitUrl: string, token?: string): Promise<void> {
    const named = token === undefined ? {} : { tokenId: 1 };
    if (token !== undefined) await this.ask("POST", "/token", { token, userName: "git" });
    await this.ask("POST", "/project", { name: "web", groupName: "tools", gitUrl, ...named });
    await this.ask("POST", "/project/1/branch", { name: "main", default: true });
  }

  /** Starts a build of project 1; its number. */
  async build(): Promise<string> {
    return (await this.ask<{ readonly buildRef: string }>("POST", "/project/1/build", {})).buildRef;
  }

  /** Ends all workers at once, with their results; a provisioner that does not answer has none that could be ended. */
  async endWorkers(): Promise<void> {
    for (const { workerId } of await this.workers().catch(() => []))
      await fetch(`${this.address("Wharf's provisioner")}/api/worker/${workerId}?force=1`, {
        method: "DELETE",
        headers: this.credential("Wharf's provisioner"),
      });
  }
}

/** What such a server is started with. */
export interface HostedOptions {
  /** Its services require it, and its workers tokens made of it; a random one that the server keeps when absent. */
  readonly token?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A `slipway up` with everything that hosted builds take, asked over REST. */
export class HostedBuilds extends WharfRest {
  server: TestServer;
  readonly #options: HostedOptions;

  private constructor(directory: string, server: TestServer, options: HostedOptions) {
    super(directory);
    this.#options = options;
    this.server = server;
  }

  static async open(directory: string, options: HostedOptions = {}): Promise<HostedBuilds> {
    return new HostedBuilds(directory, await startIn(directory, options), options);
  }

  /** Kills the server and everything in it, but not workers, and starts it again. */
  async killAndStart(): Promise<void> {
    await this.server.kill();
    this.server = await startIn(this.directory, this.#options);
  }

  /** The same in order. */
  async restart(): Promise<void> {
    await this.server.stop();
    this.server = await startIn(this.directory, this.#options);
  }

  address(part: WharfPart): string {
    return `http://${new RegExp(`${part} at (\\S+)`).exec(this.server.printed())?.[1] ?? ""}`;
  }

  credential(): Readonly<Record<string, string>> {
    const { token } = this.#options;
    return token === undefined ? wharfHeaders(this.server.directory) : { authorization: `Bearer ${token}` };
  }

  /** Ends workers, then the server: one that is still to be ended when the server stops would live on. */
  async close(): Promise<void> {
    const end = systemClock.monotonic() + workersEndMs;
    while (systemClock.monotonic() < end && (await this.workers().catch(() => [])).length > 0) {
      await this.endWorkers();
      await sleep(systemClock, 100);
    }
    await this.server.stop();
    await endRunner(this.server.directory);
  }
}

function startIn(directory: string, { token, args = [], env }: HostedOptions): Promise<TestServer> {
  const file = join(directory, "token");
  if (token !== undefined) writeFileSync(file, `${token}\n`, { mode: 0o600 });
  const listen = ["--wharf-listen", "127.0.0.1:0", "--wharf-provisioner-listen", "127.0.0.1:0"];
  const tokens = token === undefined ? [] : ["--wharf-auth-token-file", file];
  return startServer(join(directory, "server"), [...tokens, ...listen, ...args], env);
}
