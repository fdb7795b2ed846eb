import type { ApiClient } from "#kernel/kit/index.ts";
import type { Invocation } from "./command.ts";
import { connectRunning } from "./connect.ts";

/** A control plane a command talks to, and the namespace it talks about. */
export interface Session {
  readonly client: ApiClient;
  readonly namespace: string;
  close(): Promise<void>;
}

/** Runs `work` against the running control plane and closes the connection afterwards, whatever happens. */
export async function withSession<O>(
  invocation: Invocation<O>,
  work: (session: Session) => Promise<number>,
): Promise<number> {
  const session = await connectRunning(invocation.options, invocation.environment, invocation.clock);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
