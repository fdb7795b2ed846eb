/** Something that is otherwise than with a released wharf-api. */
export interface Difference {
  /** Looked for in `question | member: theirs, ours what ours has`. */
  readonly of: RegExp;
  readonly because: string;
}

/** Each is found, and everything that is found is here. */
export const intended: readonly Difference[] = [
  {
    of: /^GET \/api\/version: .*slipwayVersion: nothing/,
    because: "`version` is that of the API, which clients compare; that of the product stands beside it",
  },
  // Refusals.
  {
    of: /\| problem: "https:\/\/iver-wharf\.github\.io\/#(\S+)", ours "\1"$/,
    because: "types are relative: they name a kind of problem, and lead to nobody's pages",
  },
  {
    of: /\| errors: "(?:null|some)", ours "none"$/,
    because: "errors is a list always, of what is wrong where that is more than one thing; `detail` says the rest",
  },
  {
    of: /\| status: 502, ours 404$/,
    because: "what is not there is told with the status that the released server documents for it",
  },
  {
    of: /\| problem: "https:\S+\/unexpected-db-read-error", ours "\/prob\/api\/record-not-found"$/,
    because:
      "what a request refers to is looked for before anything is written, and its absence is no failure of a database",
  },
  {
    of: /(?:not there|of no build) \| status: 20[04], ours 404 \/prob\/api\/record-not-found$/,
    because: "nothing of something that is not there is not an empty something",
  },
  {
    of: /that nobody serves \| status: 404, ours 404 \/prob\/api\/record-not-found$/,
    because: "a path that nobody serves is refused with a document as well",
  },
  {
    of: /^PUT \/api\/build\/4\/status: .*word.* \| status: 400, ours 400 \/prob\/api\/invalid-param$/,
    because: "the released server writes two documents, and sets the build back to Scheduling",
  },
  {
    of: /statusId=x: which \| at: nothing, ours "#statusId"$/,
    because: "it is told by its name, as a number that no status has",
  },
  // Lists.
  {
    of: /offset=(?:1|99): which \| body\.totalCount: 0, ours 4$/,
    because: "the released server counts what is behind the offset of its count, which is nothing",
  },
  { of: /userNameMatch=B: which \| status: 400, ours 200$/, because: "the released server refuses it always" },
  { of: /orderby=name%20ASC: which \| status: 400, ours 200$/, because: "it can mean nothing else" },
  {
    of: /^GET \/api\/project\?descriptionMatch=(?:ours|second): which \| body\./,
    because: "a project is found by what it shows: its overrides",
  },
  {
    of: /^GET \/api\/build\?environment=: which \| body\./,
    because: "a build that was started with an empty environment has none",
  },
  // Numbers that nobody refers to from outside.
  { of: /branchId: \d+, ours \d+$/, because: "branches are counted by project" },
  { of: /artifactId: \d+, ours \d+$/, because: "artifacts are counted by build, and asked for with its number" },
  { of: /logId: \d+, ours \d+$/, because: "lines are counted by build" },
  // What is more than the released server tells.
  {
    of: /^\w+ \/api\/build\S*: .* \| body\.(?:list\[\d\]\.)?(?:reason|message): nothing, ours "/,
    because: "a build says why it has ended as it has",
  },
  { of: /\.worker(?:Step|Log)Id: nothing, ours \d$/, because: "lines have the numbers of their worker" },
  { of: /stream: a line \| body\.id: nothing, ours/, because: "a reader can go on where he was" },
  {
    of: /\.(?:stepId|workerArtifactId|size|sha256|contentType|testResults): nothing, ours /,
    because: "artifacts have the numbers of their worker, a size and a digest",
  },
  {
    of: /^POST \/api\/build\/1\/artifact: .* \| body: nothing, ours/,
    because: "who brings files is told their numbers",
  },
  { of: /content-disposition: .* ours .*; filename\*=UTF-8''/, because: "names have other letters than ASCII's" },
  {
    of: /^POST \/api\/project: all members \| body\.provider: null, ours \{/,
    because: "a project is answered as it will be read",
  },
  // Values.
  { of: /body\S*\.token: "[^"]*", ours "\*\*\*"$/, because: "tokens go in and not out" },
  {
    of: /artifact\/1: a text \| headers\.content-type: "text\/plain; charset=utf-8", ours "application\/octet-stream"$/,
    because: "an artifact is what its sender calls it, and bytes where he calls it nothing",
  },
  {
    of: /^\w+ \/api\/build\/1\/artifact\S*: which \| body\.(?:list|totalCount): .*(?:c\.txt|3)/,
    because: "a file of another field than `files` is not dropped in silence",
  },
  {
    of: /tests-results: some \| body\.(?:passed|failed): 2, ours 1$/,
    because: "the released server counts a file again for the next one that cannot be read",
  },
  {
    of: /message: "by &lt;zero&gt;\\nat line 1", ours "by <zero>\\nat line 1"$/,
    because: "a message is text, and not the XML that it came in",
  },
  { of: /message: "\\n", ours ""$/, because: "between nothing and nothing there is no end of a line" },
  {
    of: /without the slash at its end \| (?:status: 307, ours 200|headers: |body: nothing)/,
    because: "a path is served with and without a slash at its end, and nothing is sent twice",
  },
  // Builds.
  {
    of: /could not be started \| body\.list\[0\]\.(?:statusId: 0, ours 3|status: "Scheduling", ours "Failed"|finishedOn: null, ours "\(time\)")$/,
    because: "a build that nobody runs is over",
  },
  { of: /build: no body \| status: 400, ours 200$/, because: "no body is no inputs" },
  {
    of: /(?:nobody knows|that is none) \| status: 200, ours 400 \/prob\/api\/project\/run\/params-deserialize$/,
    because: "a mistake in the inputs is told before the build, and not ignored",
  },
  { of: /with builds \| status: 502, ours 204$/, because: "a project can go before its builds" },
  {
    of: /^PUT \/api\/build\/2\/status: (?:another end|begins after its end) \| body\.(?:status|finishedOn)/,
    because: "an end is the last word",
  },
  // Requests that say less than they have to.
  {
    of: /(?:without a name|a default that is none of them) \| status: 20[01], ours 400 \/prob\/api\/invalid-param$/,
    because: "a branch has a name, and the default is one of the branches",
  },
  {
    of: /^\w+ \/api\/token\S*: nothing said \| status: 20[01], ours 400 \/prob\/api\/invalid-param$/,
    because: "an empty token opens nothing, and would be found out at the next clone",
  },
  {
    of: /log: without a time \| status: 201, ours 400 \/prob\/api\/invalid-param$/,
    because: "a line has a time: the first year of all is none",
  },
  // Lines as messages.
  {
    of: /one of them again \| body: 1, ours 0$/,
    because: "a line is kept once, by the number that its worker gives it",
  },
  {
    of: /a line of a build that is not there \| (?:status: "INTERNAL", ours "OK"|body: nothing, ours 0)$/,
    because: "a line that is nobody's does not keep the others out",
  },
];
