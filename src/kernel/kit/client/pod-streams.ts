import type { Duplex, Writable } from "node:stream";
import { Pod } from "#kernel/model/index.ts";
import { ApiChannel } from "./api-channel.ts";
import type { HttpClientConfig } from "./client-config.ts";
import type { ExecEnd } from "./exec-session.ts";
import { objectPath, withQuery } from "./request-path.ts";

// Two-way streams into Pods, over WebSockets. They are apart from `ApiClient`: they need a server that runs Pods, few callers want them, and
// what they need is loaded when the first one is opened.
//
//     const streams = createPodStreams({ connection, clock, log, random });
//     const { exitCode } = await streams.exec(pod, { command: ["tar", "-xf", "-"], container: "init", stdin: archive, signal });
//     const port = await streams.portForward(pod, 5010, { signal });
//     const session = connectHttp2("http://worker", { createConnection: () => port }); // one call for each connection
//     streams.close();

/** Which Pod. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/** Of a terminal, in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** What to run in a container, and what becomes of its streams. */
export interface ExecOptions {
  /** A program and its arguments; no shell reads them. */
  readonly command: readonly string[];
  /** Absent: the server's choice, which for a Pod of several is most often the first one. May be an init container that runs. */
  readonly container?: string;
  /**
   * What the program reads, taken as fast as it does. Servers that speak an old protocol cannot be told of its end: a program for them must know
   * by itself when it has read enough, as `tar` does.
   */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** Gets the output and is ended, or destroyed when the connection breaks. Output that nobody wants is not fetched; who closes it ends the exec. */
  readonly stdout?: Writable;
  /** Nothing comes here from a program with a terminal. */
  readonly stderr?: Writable;
  /** The program has a terminal, whose size is told at first and whenever it changes; its outputs are one. */
  readonly terminal?: AsyncIterable<TerminalSize>;
  /** Ends the connection, and rejects with its reason. Servers may let the program run on. */
  readonly signal?: AbortSignal;
}

/** Programs and ports in Pods. */
export interface PodStreams {
  /**
   * Runs a program in a container to its end and answers with its exit code, whatever it is. Rejects with an `ApiError` when the server refuses
   * or the program cannot be started, and with a `SlipwayError` when the connection breaks: the program may then have done its work or not.
   */
  exec(pod: PodName, options: ExecOptions): Promise<ExecEnd>;
  /**
   * A connection to a port of a Pod, as if to `localhost` inside of it. What does not listen there is told as an error of the stream, not here.
   * There are no half-open connections: ending it ends both directions.
   */
  portForward(pod: PodName, port: number, options?: { readonly signal?: AbortSignal }): Promise<Duplex>;
  /** Ends everything that is open with `client-closed`. */
  close(): void;
}

/** Streams into the Pods of any Kubernetes API, with the credentials and the TLS of the connection. */
export function createPodStreams(config: HttpClientConfig): PodStreams {
  const channel = new ApiChannel(config);
  return {
    async exec(pod, options) {
      const { runExec } = await import("./exec-session.ts");
      return await runExec(channel, execPath(pod, options), options);
    },
    async portForward(pod, port, options = {}) {
      const { forwardedPort } = await import("./forwarded-port.ts");
      return await forwardedPort(channel, withQuery(pathOf(pod, "portforward"), { ports: port }), { port, ...options });
    },
    close: () => channel.close(),
  };
}

const pathOf = (pod: PodName, subresource: string): string => objectPath({ type: Pod, ...pod }, subresource);

/** The command is one parameter for each of its words. */
function execPath(pod: PodName, { command, container, stdin, stdout, stderr, terminal }: ExecOptions): string {
  const flags = {
    container,
    stdin: stdin === undefined ? undefined : true,
    stdout: stdout === undefined ? undefined : true,
    stderr: stderr === undefined || terminal !== undefined ? undefined : true,
    tty: terminal === undefined ? undefined : true,
  };
  const words = command.map((word) => `command=${encodeURIComponent(word)}`).join("&");
  const path = withQuery(pathOf(pod, "exec"), flags);
  return `${path}${path.includes("?") ? "&" : "?"}${words}`;
}
