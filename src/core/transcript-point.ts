/** A place in a transcript in which the user went back. */
export interface TranscriptPlace {
  /** The external ids of the messages before it, newest first. */
  before: Iterable<string>;
  /** True for a message of the transcript that is not on the path to this place. */
  isElsewhere(externalId: string): boolean;
  /** True for a message of the transcript, on any path. */
  isInTranscript(externalId: string): boolean;
  /** True if the transcript ends here. Then the session does not leave messages that the transcript does not have. */
  isEnd: boolean;
}
