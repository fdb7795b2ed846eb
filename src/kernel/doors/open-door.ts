import type { Door, DoorOptions } from "./door.ts";

/**
 * Opens a listener for a service: HTTPS or clear text, who is let in, limits of time and number. It loads nothing of
 * what it serves before the first connection. Rejects with `rpc-listen`.
 */
export async function openDoor(options: DoorOptions): Promise<Door> {
  // Clients use this folder too, and need no listener.
  const { openDoor: open } = await import("./door.ts");
  return await open(options);
}
