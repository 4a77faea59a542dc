"""What a golden trace consists of, and what golden.py says of a model that has changed."""

import pathlib
import stat
import tempfile
import unittest
from unittest import mock

import golden
import recipe


class Folders(unittest.TestCase):
    def test_each_has_a_recipe_a_page_and_a_recording_of_at_most_1_mib(self):
        recipes = recipe.read_all()
        self.assertTrue(recipes, "there are none: this test looked at nothing")
        for this in recipes:
            with self.subTest(this.name):
                self.assertTrue((this.trace.parent / "README.md").read_text().strip())
                self.assertLessEqual(this.trace.stat().st_size, recipe.MOST_BYTES)

    def test_each_recording_has_a_recipe(self):
        for trace in recipe.GOLDEN.rglob("*.zst"):
            self.assertTrue((trace.parent / "recipe.toml").exists(), f"{trace} cannot be recorded again")


class Recipes(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "recipe.toml"
            path.write_text(text)
            return recipe.read(path)

    def test_a_key_that_is_none_is_refused(self):
        with self.assertRaisesRegex(recipe.Mistake, "no key is called confg; there are at, case, config, dump, set"):
            self.read('confg = "a.toml"\n')

    def test_two_sources_at_once_are_refused(self):
        for other in 'case = "b.sh"', 'dump = ["c.txt"]':
            with self.assertRaisesRegex(recipe.Mistake, "either a config, a case of the guest level, or dumps"):
                self.read(f'config = "a.toml"\n{other}\n')

    def test_a_name_that_is_none_is_refused_with_those_that_are(self):
        with self.assertRaisesRegex(recipe.Mistake, "no golden trace is called no_such; there are "):
            recipe.read_all(["no_such"])


class Judgement(unittest.TestCase):
    """A program that plays traces with the statuses it is told: of strict, untimed and functional."""

    def judge(self, *statuses):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "program"
            cases = "".join(f"{mode}) status={status};;\n" for (mode, _), status in zip(golden.MEANINGS, statuses))
            program.write_text(f'#!/bin/sh\ncase $2 in\n{cases}esac\necho "said of $2"\nexit $status\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            return golden.judge(program, "trace")

    def test_what_plays_strictly_has_not_changed(self):
        self.assertEqual(self.judge(0, 1, 1), (True, "the same"))

    def test_what_plays_untimed_has_changed_in_time_and_says_where(self):
        is_same, text = self.judge(1, 0, 1)
        self.assertFalse(is_same)
        self.assertEqual(text, "a change of time only\nsaid of --strict")

    def test_what_plays_functionally_is_the_same_to_a_driver(self):
        is_same, text = self.judge(1, 1, 0)
        self.assertFalse(is_same)
        self.assertIn("a driver sees the same\nsaid of --strict", text)

    def test_what_does_not_is_a_change_of_behaviour_with_the_widest_comparison_s_words(self):
        is_same, text = self.judge(1, 1, 1)
        self.assertFalse(is_same)
        self.assertEqual(text, "a change of behaviour\nsaid of --functional")

    def test_a_program_that_cannot_play_is_no_change(self):
        with self.assertRaisesRegex(recipe.Mistake, "cannot be played: said of --strict"):
            self.judge(2, 0, 0)

class Dumps(unittest.TestCase):
    """A program that imports a log as its bytes, and compares recordings as files."""

    def judge(self, recorded, compare="cmp -s"):
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "program"
            program.write_text('#!/bin/sh\nset -e\n'
                               f'if [ $2 = diff ]; then {compare} $3 $4 && exit || status=$?; '
                               'echo "said of diff"; exit $status; fi\n'
                               '[ "$2 $3 $5" = "import --dump --out" ] && cat $4 > $6\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            (pathlib.Path(directory) / recipe.TRACE).write_text(recorded)
            logs = [pathlib.Path(directory) / name for name in ("first", "second")]
            for log in logs:
                log.write_text(f"{log.name}\n")
            with mock.patch.object(recipe.Recipe, "trace", pathlib.Path(directory) / recipe.TRACE):
                return golden.judge_dumps(program, recipe.Recipe("name", dump=logs))

    def test_what_is_read_as_it_was_has_not_changed(self):
        self.assertEqual(self.judge("first\nsecond\n"), (True, "the same"))

    def test_what_is_read_otherwise_is_told_with_the_difference(self):
        self.assertEqual(self.judge("first\n"), (False, "read otherwise\nsaid of diff"))

    def test_a_recording_that_cannot_be_read_is_no_change(self):
        with self.assertRaisesRegex(recipe.Mistake, "cannot be read: said of diff"):
            self.judge("", compare="sh -c 'exit 5'")


if __name__ == "__main__":
    unittest.main()
