// Texts for people that clients and the original's users know by heart.

export const retriesUsedUp = (isSuspended: boolean): string =>
  `The workflow ${isSuspended ? "suspends" : "terminates"} automatically because the failed times of steps have ` +
  "reached the limit";

/** `places` are the namespaces that were searched. */
export const definitionNotFound = (
  kind: string,
  name: string,
  places: readonly string[],
  nearest: string | undefined,
): string =>
  `${kind} "${name}" not found in ns ${places.join(", ")}${nearest === undefined ? "" : `; nearest: ${nearest}`}`;
