import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { signalGroup } from "#lib/base/index.node.ts";
import { bundleProgram } from "#test/support/bundle-program.ts";
import { freePort } from "#test/support/free-port.ts";
import { type WharfPart, WharfRest } from "#test/support/hosted-builds.ts";
import { cleanEnvironment, slipwayBin } from "#test/support/slipway.ts";
import { hostWorkersBelow } from "#test/support/wharf.ts";
import { wharfHeaders } from "#test/support/wharf-access.ts";
import { within } from "#test/support/within.ts";

/** What hosted builds are made of besides workers, each a process of its own. */
export const services = ["API server", "provisioner", "wharf-api", "aggregator"] as const;
export type ServiceName = (typeof services)[number];

/** Starting one on the busiest machine. */
const startMs = 90_000;

/**
 * An API server without controllers, wharf-api, a provisioner and an aggregator, each at an address of its own that it keeps over its deaths. They are
 * started again when they end by themselves, as whoever runs them would do.
 */
export class WharfServices extends WharfRest {
  readonly #ports: Readonly<Record<ServiceName, number>>;
  readonly #program: string;
  readonly #processes = new Map<ServiceName, ChildProcess>();
  readonly #said: string[] = [];
  /** Those that may end by themselves in the very moment are started again by who has killed them, and by nobody else. */
  readonly #killed = new Set<ChildProcess>();

  private constructor(directory: string, ports: Readonly<Record<ServiceName, number>>, program: string) {
    super(directory);
    this.#ports = ports;
    this.#program = program;
  }

  /** All of them at work. */
  static async open(directory: string): Promise<WharfServices> {
    const ports = {
      "API server": await freePort(),
      provisioner: await freePort(),
      "wharf-api": await freePort(),
      aggregator: 0,
    };
    const program = await bundleProgram(join(import.meta.dirname, "wharf-cluster-program.ts"));
    const opened = new WharfServices(directory, ports, program);
    await mkdir(join(directory, "cluster"));
    for (const name of services) await opened.start(name);
    return opened;
  }

  credential(part: WharfPart): Readonly<Record<string, string>> {
    return wharfHeaders(join(this.directory, part === "wharf-api" ? part : "provisioner"));
  }

  address(part: WharfPart): string {
    return `http://127.0.0.1:${this.#ports[part === "wharf-api" ? part : "provisioner"]}`;
  }

  /** What all of them have logged, for whoever looks for a fault. */
  said(): string {
    return this.#said.join("");
  }

  /** Resolves when it answers, or is at work: also when it ends by itself before that, and the one that is started instead does. */
  async start(name: ServiceName): Promise<void> {
    await within(startMs, `${name} is ready`, this.#spawn(name), () => this.said());
  }

  #spawn(name: ServiceName): Promise<void> {
    const child = spawn(process.execPath, this.#words(name), {
      env: cleanEnvironment({ HOME: this.directory }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#processes.set(name, child);
    child.stderr.on("data", (chunk: Buffer) => this.#said.push(`${name}: ${chunk.toString()}`));
    return new Promise<void>((resolve) => {
      child.stdout.on("data", () => resolve());
      // It says nothing of its own: what is kept of workers without it shows in the end.
      if (name === "aggregator") resolve();
      child.once("exit", (code, signal) => {
        this.#said.push(`${name}: ended with ${signal ?? code}\n`);
        if (!this.#killed.has(child)) resolve(this.#spawn(name));
      });
    });
  }

  /** Ends it as a power cut would. */
  async kill(name: ServiceName): Promise<void> {
    await this.#end(name, "SIGKILL");
  }

  /** Ends workers, then everything, the API last. */
  async close(): Promise<void> {
    await this.endWorkers();
    for (const name of services.toReversed()) await this.#end(name, "SIGKILL");
    // A provisioner that has not its lease back yet has ended none.
    for (const { pid } of await hostWorkersBelow(this.directory)) signalGroup(pid, "SIGKILL");
  }

  async #end(name: ServiceName, signal: NodeJS.Signals): Promise<void> {
    const child = this.#processes.get(name);
    if (child !== undefined) this.#killed.add(child);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  #words(name: ServiceName): readonly string[] {
    const cluster = join(this.directory, "cluster");
    if (name === "API server") return [this.#program, cluster, `${this.#ports[name]}`];
    const [verb, ...more] = {
      provisioner: ["provisioner", "--wharf-provisioner-listen", `127.0.0.1:${this.#ports.provisioner}`],
      "wharf-api": [
        "api",
        "--wharf-listen",
        `127.0.0.1:${this.#ports["wharf-api"]}`,
        "--wharf-engine-url",
        `${this.address("Wharf's provisioner")}/api/worker`,
        "--wharf-aggregator",
        "off",
      ],
      aggregator: [
        "aggregator",
        "--api",
        this.address("wharf-api"),
        "--provisioner",
        this.address("Wharf's provisioner"),
      ],
    }[name];
    const kubeconfig = ["--kubeconfig", join(cluster, "kubeconfig"), "--data-dir", join(this.directory, name)];
    return [slipwayBin, "wharf", verb ?? "", "serve", ...kubeconfig, ...more];
  }
}
