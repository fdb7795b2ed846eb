import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import { kubeconfigUnderTest, openClusterUnderTest } from "./cluster-under-test.ts";
import { cleanEnvironment, endRunner, slipwayBin, startServer } from "./slipway.ts";
import { within } from "./within.ts";

/** Starting and ending a program on the busiest machine. */
const programMs = 60_000;

/** API, controllers and server of agents, as programs of their own. */
export interface ControlPlane {
  readonly directory: string;
  readonly kubeconfig: string;
  /** Where agents connect. */
  readonly agentAddress: string;
  /** Ends them in order, and expects that they can. */
  stop(): Promise<void>;
}

/** Starts `slipway up`, or on the cluster under test what the guide on clusters says. */
export const startControlPlane = (directory: string): Promise<ControlPlane> =>
  kubeconfigUnderTest === undefined ? startOwn(directory) : startOnCluster(directory, kubeconfigUnderTest);

async function startOwn(directory: string): Promise<ControlPlane> {
  const server = await startServer(directory, ["--tink-listen", "127.0.0.1:0"]);
  const [, agentAddress = ""] = /agents of Tinkerbell at (\S+)/.exec(server.printed()) ?? [];
  return {
    directory,
    kubeconfig: server.kubeconfig,
    agentAddress,
    async stop() {
      expect(await server.stop()).toBe(0);
      await endRunner(directory);
    },
  };
}

async function startOnCluster(directory: string, kubeconfig: string): Promise<ControlPlane> {
  const cluster = await openClusterUnderTest(kubeconfig);
  const where = ["--kubeconfig", kubeconfig, "--data-dir", directory];
  const controllers = startProgram(["controllers", ...where]);
  const server = startProgram(["tink", "server", "--tink-listen", "127.0.0.1:0", ...where]);
  await controllers.until(/controllers started/);
  const [, agentAddress = ""] = await server.until(/agents of Tinkerbell: (\S+)/);
  return {
    directory,
    kubeconfig,
    agentAddress,
    async stop() {
      expect(await Promise.all([controllers.stop(), server.stop()])).toEqual([0, 0]);
      await cluster.close();
    },
  };
}

/** A program of ours at work. */
interface Program {
  /** Resolves with the first match in what it has said, on either stream. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** Asks it to end; its code. */
  stop(): Promise<number | null>;
}

function startProgram(words: readonly string[]): Program {
  const child: ChildProcess = spawn(process.execPath, [slipwayBin, ...words], {
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return {
    until(pattern) {
      const matched = new Promise<RegExpExecArray>((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(said);
          if (match !== null) resolve(match);
        };
        for (const stream of [child.stdout, child.stderr]) stream?.on("data", look);
        look();
        void ended.then(() => reject(new Error(`slipway ${words.join(" ")} ended:\n${said}`)));
      });
      return within(programMs, `slipway ${words[0] ?? ""} says ${pattern.source}`, matched, () => said);
    },
    async stop() {
      child.kill("SIGTERM");
      await within(programMs, `slipway ${words[0] ?? ""} ends after SIGTERM`, ended, () => said);
      return child.exitCode;
    },
  };
}
