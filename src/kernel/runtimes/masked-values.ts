/** What is put out of a log: the values that these variables have. */
export const maskedValues = (names: readonly string[], env: Readonly<Record<string, string>>): readonly string[] =>
  names.flatMap((name) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    return value === undefined ? [] : [value];
  });
