import { type Deferred, deferred } from "#lib/base/index.ts";
import type { AgentEvent } from "../../events.ts";
import type { Answer, Resumed } from "../agent-state.ts";
import type { AgentConnection, AgentServer, Command, LogSink } from "../connection.ts";

/** A server in memory. It answers every event with `answer`, and notes in `told` what it was told. */
export class FakeServer implements AgentServer {
  readonly told: string[] = [];
  /** What each connection began with. */
  readonly connections: (readonly Resumed[])[] = [];
  /** What an event is answered with; may reject, as when the answer is lost. */
  answer: (event: AgentEvent) => Promise<Answer> = async () => "ok";
  /** Where it takes logs, if it does. */
  sink: LogSink | undefined;
  /** False: nobody answers. */
  isUp = true;
  #link: { readonly queue: Command[]; wake: Deferred<void>; isOver: boolean } | undefined;

  async connect(resumed: readonly Resumed[]): Promise<AgentConnection> {
    if (!this.isUp) throw new Error("nobody answers");
    this.connections.push(resumed);
    const link = { queue: [] as Command[], wake: deferred<void>(), isOver: false };
    this.#link = link;
    return {
      commands: commandsOf(link),
      publish: async (_workflow, event) => {
        if (link.isOver) throw new Error("the connection is broken");
        const answer = await this.answer(event);
        this.told.push(formatEvent(event));
        return answer;
      },
      logs: Promise.resolve(this.sink),
      close: () => over(link),
    };
  }

  send(command: Command): void {
    if (this.#link === undefined || this.#link.isOver) throw new Error("no agent is connected");
    this.#link.queue.push(command);
    this.#link.wake.resolve();
  }

  /** The connection breaks; `isUp` says whether another one can be made. */
  drop(): void {
    if (this.#link !== undefined) over(this.#link);
  }
}

type Link = { readonly queue: Command[]; wake: Deferred<void>; isOver: boolean };

function over(link: Link): void {
  link.isOver = true;
  link.wake.resolve();
}

async function* commandsOf(link: Link): AsyncGenerator<Command> {
  while (!link.isOver) {
    const next = link.queue.shift();
    if (next !== undefined) {
      yield next;
      continue;
    }
    await link.wake.promise;
    link.wake = deferred();
  }
}

/** `started id-one`, `failed id-one NonZeroExit`. */
export const formatEvent = (event: AgentEvent): string => {
  if (event.is === "rejected") return `rejected ${event.reason}`;
  return event.is === "failed" ? `failed ${event.action} ${event.reason}` : `${event.is} ${event.action}`;
};
