"""The first story again, on Spark: the same documents in a DataFrame, the same notifications out of it."""

from __future__ import annotations

from typing import Any

from heliograph.demo.feeds import FOLDER
from heliograph.demo.stage import Column, Stage
from heliograph.errors import SetupError
from heliograph.feeds import read_documents
from heliograph.filter import Filter
from heliograph.spark.environment import check_environment
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, find_sources

CODE = """
from heliograph.spark import filter, session
spark = session("local[2]")
documents = spark.read.format("binaryFile").load("documents")
division = {"shards": 2, "partition": "containment"}
found = filter(documents, queries, taxonomy="taxonomy.csv", **division)
"""


def tell(stage: Stage) -> None:
    """The story; without Java it says what it would need."""
    stage.title(4, "spark", "The same filter as a data pipeline: DataFrame in, DataFrame out.")
    try:
        check_environment()
    except SetupError as error:
        stage.say(f"Not told here: {error.message}. Everything above works without it.")
        return
    stage.say("The queries are planned into two shards; Spark's workers parse the documents and match them there:")
    stage.code("python", CODE)
    queries = [(path.stem, path.read_text()) for path in sorted((FOLDER / "queries").glob("*.rq"))]
    told, expected = _on_spark(queries), _embedded(queries)
    stage.table("What came out", [Column("publication", "magenta"), Column("notifies", "cyan", True)], told)
    same = "the same" if told == expected else "NOT the same"
    stage.say(f"{len(told)} notifications on Spark, {len(expected)} of the embedded engine: {same}.")


def _on_spark(queries: list[tuple[str, str]]) -> list[tuple[str, str]]:
    from heliograph.spark import filter, session

    spark = session("local[2]")
    try:
        rows = [(source.name, source.path.read_bytes()) for source in _sources() if source.path is not None]
        documents = spark.createDataFrame(rows, "path string, content binary")
        options: Any = {"taxonomy": FOLDER / "taxonomy.csv", "shards": 2, "partition": "containment"}
        found = filter(documents, queries, **options).where("rejected IS NULL").collect()
        return sorted((row.publication_id, row.subscription_id) for row in found)
    finally:
        spark.stop()


def _embedded(queries: list[tuple[str, str]]) -> list[tuple[str, str]]:
    engine = Filter(taxonomy=FOLDER / "taxonomy.csv")
    engine.subscribe(queries)
    found = [engine.publish(each.publications) for each in read_documents(_sources(), engine.vocabulary.overlay())]
    return sorted((str(hit.publication_id), hit.subscription_id) for batch in found for hit in batch)


def _sources() -> Any:
    return find_sources(FOLDER / "documents", DOCUMENT_SUFFIXES + FEED_SUFFIXES)
