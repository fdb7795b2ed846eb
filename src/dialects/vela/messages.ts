// Texts for people that clients and the original's users know by heart.

/** `places` are the namespaces that were searched. */
export const definitionNotFound = (
  kind: string,
  name: string,
  places: readonly string[],
  nearest: string | undefined,
): string =>
  `${kind} "${name}" not found in ns ${places.join(", ")}${nearest === undefined ? "" : `; nearest: ${nearest}`}`;
