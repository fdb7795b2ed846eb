import type { getRequestListener } from "@hono/node-server";
import {
  type AskedRequest,
  type Door,
  type DoorOptions,
  openDoor,
  type Served as Behind,
} from "#kernel/doors/index.ts";
import { doorProblem } from "./problem.ts";

export type HttpDoor = Door;

/** `fetch` is that of a hono app. */
export interface Served extends Pick<Behind, "services" | "streams"> {
  readonly fetch: Parameters<typeof getRequestListener>[0];
}

export interface HttpDoorOptions extends Omit<DoorOptions, "form" | "isOpen" | "serves" | "tls"> {
  readonly serves: (closing: AbortSignal) => Promise<Served>;
}

/** A door whose refusals are Wharf's problems. Rejects with `rpc-listen`. */
export const openHttpDoor = (options: HttpDoorOptions): Promise<HttpDoor> =>
  openDoor({
    ...options,
    form: doorProblem,
    isOpen: isHealth,
    async serves(closing) {
      const [{ getRequestListener }, { fetch, ...served }] = await Promise.all([
        import("@hono/node-server"),
        options.serves(closing),
      ]);
      const answer = getRequestListener(fetch, { overrideGlobalObjects: false });
      return { ...served, answer: ({ request, response }) => answer(request, response) };
    },
  });

const isHealth = ({ method, path }: AskedRequest): boolean =>
  method === "GET" && /^\/api\/(?:health|ping|version)\/?$/.test(path);
