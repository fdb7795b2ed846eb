export type GitFailure = "Authentication" | "NotFound" | "Unreachable";

const authentication = [
  /Authentication failed/i,
  /could not read (?:Username|Password)/i,
  /terminal prompts disabled/i,
  /Permission denied/i,
  /Host key verification failed/i,
  /returned error: 40[13]/i,
  /HTTP Basic: Access denied/i,
  /Invalid username or (?:password|token)/i,
];

const notFound = [
  /Remote branch .* not found/i,
  /couldn't find remote ref/i,
  /not our ref/i,
  /repository .*not found/i,
  /repository '.*' does not exist/i,
  /does not appear to be a git repository/i,
  /returned error: 404/i,
  /unable to read tree|reference is not a tree|unknown revision|did not match any file/i,
];

/** Interprets Git's messages in the C locale. Only Unreachable is retried. */
export function gitFailureOf(lines: readonly string[]): GitFailure {
  const text = lines.join("\n");
  if (authentication.some((pattern) => pattern.test(text))) return "Authentication";
  return notFound.some((pattern) => pattern.test(text)) ? "NotFound" : "Unreachable";
}
