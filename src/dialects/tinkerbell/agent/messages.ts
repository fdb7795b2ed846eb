/** Messages of an agent in the status. They stand behind a reason and say only what it does not. */
export const told = {
  stopped: "the agent has stopped it",
  stoppedByServer: "stopped at the server's request",
  stoppedAtExit: "the agent was asked to stop",
  refused: "the server has refused its start",
  noActions: "the workflow has no actions",
  needsCommand: "the host runtime needs a command",
  ignored: (what: string) => `the host runtime has no containers: ${what} are ignored`,
  containerGone: "its container was removed",
  imageAbsent: (image: string) => `image "${image}" is not here, and is not to be fetched`,
  imageKept: (trouble: string) => `${trouble}; the image that is here is used`,
  busy: (workflow: string) => `workflow ${workflow} is in progress`,
} as const;
