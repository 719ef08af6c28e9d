from streamlit.testing.v1 import AppTest

from binding_core.encoders import available


def test_every_card_is_drawn_with_its_figures():
    app = AppTest.from_file("../../pages/models.py", default_timeout=60)
    app.session_state.navigated = True
    app.run()
    assert not app.exception
    drawn = " ".join(h.proto.body for h in app.get("html"))
    for card in available():
        assert f'data-model="{card.id}"' in drawn
    assert drawn.count('<table class="figures">') == 3
    assert "not available" in drawn  # one-object scenes have no swap accuracy


def test_a_path_that_is_no_model_is_named():
    app = AppTest.from_file("../../pages/models.py", default_timeout=60)
    app.session_state.navigated = True
    app.run()
    app.button(key="FormSubmitter:add_model-Add the model").click().run()
    assert "Name a folder" in app.warning[0].value
    app.text_input("own_path").input("/nowhere/model.pkl")
    app.button(key="FormSubmitter:add_model-Add the model").click().run()
    assert "not opened" in app.warning[0].value
    assert not app.exception
