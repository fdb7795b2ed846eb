import { join } from "node:path";
import { aborted, deferred, messageOf, orAborted } from "#lib/base/index.ts";
import { type ControllerParts, openWhenNeeded } from "#kernel/dialect/index.ts";
import { asShared, type Manager } from "#kernel/kit/index.ts";
import { addController } from "./controller.ts";
import { firstKey } from "./first-key.ts";
import { ContentBundle, kindOf } from "./kinds.ts";
import { knownPassword, serverUnserved } from "./messages.ts";
import { type RebarOptions, usualFiles } from "./options.ts";
import { openServer, type RebarServer } from "./open-server.ts";

/** What makes a server necessary that nobody asked for. */
const neededBy = [kindOf.machines, ContentBundle];

/**
 * Adds the server for clients and agents, and the controller of machines, which works on the server's store. Rejects if
 * a required address is taken.
 */
export async function addControllers(manager: Manager, parts: ControllerParts<RebarOptions>): Promise<void> {
}
