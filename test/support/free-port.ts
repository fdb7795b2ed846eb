import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Systems give ports from 32768 on to whoever asks for any, and programs of their own rarely use these. */
const [lowest, above] = [20_000, 32_000] as const;

/**
 * A port of this machine that nobody listens on. It stays free for a while: of the ports that the system gives away by itself, one that
 * is free now, or was let go for a restart, may be another test's a moment later.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, above);
    if (await isFree(port)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const listener = createServer();
    listener.once("error", () => resolve(false));
    listener.listen(port, () => listener.close(() => resolve(true)));
  });
