import { mkdir } from "node:fs/promises";
import type { Server } from "node:net";
import { join } from "node:path";
import type { TinkerbellServerOptions } from "#dialects/tinkerbell/server/server.ts";
import { kubeconfigUnderTest, openClusterUnderTest } from "#test/support/cluster-under-test.ts";
import { cleanEnvironment, endRunner, removeDirectory, slipwayBin, temporaryDirectory } from "#test/support/slipway.ts";
import { type Cable, layNetwork, Namespace, plugIn, serverAddress } from "./namespace.ts";
import { kill, type Life, lifeOf, ServerProcess } from "./server-process.ts";

const agentPort = 42_113;

/** A machine with an agent: the program as a user starts it, with actions that are processes. */
export class AgentMachine {
  readonly id: string;
  readonly directory: string;
  readonly namespace: Namespace;
  readonly cable: Cable;
  readonly said: string[] = [];
  #life: Life | undefined;

  constructor(id: string, directory: string, namespace: Namespace, cable: Cable) {
    [this.id, this.directory, this.namespace, this.cable] = [id, directory, namespace, cable];
  }

  /** `engine`: the containers' engine, where actions are no processes. */
  start(engine?: { readonly host: string }): void {
    const server = `${serverAddress}:${agentPort}`;
    // A machine under test may itself be a container, which may not give away all that it has.
    const docker = ["--runtime", "docker", "--pull", "never", "--privileged", "false"];
    const where = engine === undefined ? ["--runtime", "host"] : docker;
    const words = ["agent", "--server", server, "--id", this.id, "--state-dir", this.directory, ...where];
    // Actions of these tests end when they are let, and not because their grace is over.
    const child = this.namespace.spawn(slipwayBin, [...words, "--stop-grace", "5m"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: cleanEnvironment({ HOME: this.directory, ...(engine === undefined ? {} : { DOCKER_HOST: engine.host }) }),
    });
    this.#life = lifeOf(child, this.said);
  }

  async kill(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    if (life !== undefined) await kill(life);
  }

  /** The agent, what runs its actions, and the actions. */
  async powerOff(): Promise<void> {
    await this.namespace.powerOff();
    await this.kill();
  }

  signal(name: NodeJS.Signals): void {
    this.#life?.child.kill(name);
  }

  async close(): Promise<void> {
    await this.kill();
    await endRunner(this.directory);
    this.namespace.close();
  }
}

export type SiteOptions = Omit<TinkerbellServerOptions, "listen">;

/** A server, with machines that reach it by cables of their own; all of it goes with `close`. */
export class Site {
  readonly directory: string;
  readonly server: ServerProcess;
  readonly #namespace: Namespace;
  readonly #machines: AgentMachine[] = [];
  #way: Server | undefined;
  #cables = 0;

  private constructor(directory: string, namespace: Namespace, options: SiteOptions) {
    [this.directory, this.#namespace] = [directory, namespace];
    const server = { listen: `0.0.0.0:${agentPort}`, ...options };
    this.server = new ServerProcess(directory, server, (...how) => namespace.spawn(...how), kubeconfigUnderTest);
  }

  /** On the cluster under test there may be one at a time. */
  static async open(options: SiteOptions = {}): Promise<Site> {
    const namespace = await Namespace.open();
    await layNetwork(namespace);
    const site = new Site(await temporaryDirectory(), namespace, options);
    if (kubeconfigUnderTest !== undefined) site.#way = await wayTo(kubeconfigUnderTest, namespace);
    await site.server.start();
    return site;
  }

  get holds(): string {
    return join(this.directory, "holds");
  }

  /** A machine with an agent that is not started yet. */
  async machine(id: string, place = id): Promise<AgentMachine> {
    const number = (this.#cables += 1);
    const namespace = await Namespace.open();
    const cable = await plugIn(this.#namespace, namespace, number);
    const directory = join(this.directory, "machines", place);
    await mkdir(directory, { recursive: true });
    const machine = new AgentMachine(id, directory, namespace, cable);
    this.#machines.push(machine);
    return machine;
  }

  async close(): Promise<void> {
    await Promise.all(this.#machines.map((machine) => machine.close()));
    await this.server.kill();
    this.#way?.close();
    this.#namespace.close();
    await removeDirectory(this.directory);
  }
}

/** Makes the cluster anew for a site whose server is on this machine. */
async function wayTo(kubeconfig: string, machine: Namespace): Promise<Server> {
  const cluster = await openClusterUnderTest(kubeconfig);
  const { hostname, port } = new URL(cluster.api.url);
  await cluster.close();
  if (hostname !== "127.0.0.1")
    throw new Error(`the cluster is at ${hostname}, which machines of this test do not reach`);
  return await machine.lend(Number(port));
}
